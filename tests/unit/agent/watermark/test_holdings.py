"""Since when a node replicates ranges and publishes tables."""

from hypothesis import given
from hypothesis import strategies as st

from agent.snapshot.ring import TokenRange
from agent.watermark.holdings import HeldRange, Holdings, holdings_from_json
from agent.watermark.node_probe import NodeProbe, Replication

OPTIONS = {"class": "NetworkTopologyStrategy", "dc1": "3"}


def probe(
    at_ms: int,
    *ranges: tuple[int, int],
    options: dict[str, str] = OPTIONS,
    keyspaces: tuple[str, ...] = ("ks",),
    tables: tuple[str, ...] = ("ks.t",),
) -> NodeProbe:
    found = tuple(TokenRange(after, to) for after, to in ranges)
    replication = (Replication(keyspaces, options, found),)
    return NodeProbe(at_ms, 1, "a", 0, False, tables, replication, None)


def test_another_replication_begins_anew() -> None:
    before = Holdings().after(probe(1, (0, 100)))
    (held,) = before.after(probe(2, (0, 100), options={**OPTIONS, "dc1": "1"})).replication
    assert held.ranges == (HeldRange(0, 100, 2),)


def test_keyspaces_of_different_ages_are_apart() -> None:
    both = Holdings().after(probe(1, (0, 100))).after(probe(2, (0, 100), keyspaces=("ks", "new")))
    assert [(held.keyspaces, held.ranges[0].since_ms) for held in both.replication] == [
        (("ks",), 1),
        (("new",), 2),
    ]


def test_tables_keep_their_time_while_they_are_published() -> None:
    before = Holdings().after(probe(1, tables=("ks.t", "ks.u")))
    after = before.after(probe(2, tables=("ks.t", "ks.v")))
    assert after.tables == {"ks.t": 1, "ks.v": 2}
    assert after.after(probe(3, tables=("ks.u",))).tables == {"ks.u": 3}


def test_holdings_are_read_back() -> None:
    holdings = Holdings().after(probe(1, (-(1 << 63), (1 << 63) - 1)))
    assert holdings_from_json(holdings.to_json()) == holdings


BOUNDS = st.lists(st.integers(0, 12), unique=True, min_size=2, max_size=8).map(
    lambda bounds: [(a, b) for a, b in zip(sorted(bounds)[::2], sorted(bounds)[1::2], strict=False)]
)


@given(st.lists(BOUNDS, min_size=1, max_size=4))
def test_each_token_is_as_old_as_it_was_held_without_a_break(
    story: list[list[tuple[int, int]]],
) -> None:
    holdings = Holdings()
    since: dict[int, int] = {}
    for at_ms, ranges in enumerate(story):
        holdings = holdings.after(probe(at_ms, *ranges))
        held = {token for after, to in ranges for token in range(after + 1, to + 1)}
        since = {token: since.get(token, at_ms) for token in held}
        (replication,) = holdings.replication
        found = {
            token: one.since_ms
            for one in replication.ranges
            for token in range(one.after + 1, one.to + 1)
        }
        assert found == since
        assert all(isinstance(one, HeldRange) for one in replication.ranges)
