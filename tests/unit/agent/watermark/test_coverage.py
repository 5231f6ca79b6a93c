"""Covered times, held ranges, their store, and the barrier for segments synced at a scan."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.segments.plan import Segments
from agent.segments.state import Segment
from agent.snapshot.ring import TokenRange, whole_ring
from agent.watermark.coverage import (
    FILE_NAME,
    MAX_GAPS,
    Coverage,
    CoverageStore,
    Gap,
    HeldRange,
    Holdings,
    barrier_at,
    begun,
    coverage_from_entries,
    holdings_from_json,
)
from agent.watermark.node_probe import NodeProbe, Replication
from sidecar.errors import OffsetStoreError

COVERAGE = Coverage(100, 900, 1)


def probe(generation: int, asked_at_ms: int, *, loses_end: bool = True) -> NodeProbe:
    replication = Replication(("ks",), {"class": "SimpleStrategy"}, whole_ring())
    return NodeProbe(asked_at_ms, generation, "a", 5, loses_end, ("ks.t",), (replication,), None)


def test_coverage_end_never_decreases() -> None:
    assert begun(100, probe(1, 90)).reached(50).until_ms == 100
    assert COVERAGE.reached(901).until_ms == 901


def test_node_restart_leaves_gap_until_first_answer() -> None:
    after = COVERAGE.answered(probe(2, 1500))
    assert after.gaps == (Gap(900, 1500),)
    assert after.answered(probe(2, 1600)) == after


def test_node_restart_leaves_no_gap_with_synchronous_commit_log() -> None:
    assert COVERAGE.answered(probe(2, 1500, loses_end=False)).gaps == ()


def test_oldest_gaps_of_coverage_are_joined() -> None:
    coverage = begun(0, probe(0, 0))
    for start in range(1, MAX_GAPS + 2):
        coverage = coverage.answered(probe(start, 10 * start)).reached(10 * start + 1)
    assert (len(coverage.gaps), coverage.gaps[0]) == (MAX_GAPS, Gap(0, 20))


def test_coverage_entries_survive_round_trip() -> None:
    coverage = Coverage(100, 900, 7, (Gap(200, 300), Gap(400, 500)), begun(0, probe(7, 0)).holdings)
    entries = coverage.to_entries("n")
    assert coverage_from_entries(entries, "n") == coverage
    assert coverage_from_entries(entries, "another") is None
    assert coverage_from_entries({}, "n") is None


def test_invalid_coverage_entries_are_reported_with_file() -> None:
    entries = COVERAGE.to_entries("n") | {"until.ms": "soon"}
    with pytest.raises(OffsetStoreError, match=r"watermark\.properties"):
        coverage_from_entries(entries, "n")


def test_the_coverage_of_another_node_is_ignored(tmp_path: Path) -> None:
    coverage = Coverage(1, 2, 3)
    CoverageStore(tmp_path, "shop", "n").save(coverage)
    assert CoverageStore(tmp_path, "shop", "n").load() == coverage
    assert CoverageStore(tmp_path, "shop", "m").load() is None


def test_coverage_write_error_does_not_raise(tmp_path: Path) -> None:
    CoverageStore(tmp_path / "missing", "shop", "n").save(Coverage(1, 2, 3))
    assert not (tmp_path / "missing" / FILE_NAME).exists()


NAME = SegmentName(1, 7)


def test_barrier_ignores_segment_without_index_update() -> None:
    assert barrier_at(Segments([Segment(NAME)])).is_reached(Segments([Segment(NAME)]))


def test_barrier_passes_active_segment_at_its_index() -> None:
    active = Segment(NAME, idx=Idx(offset=50), acknowledged_position=40)
    barrier = barrier_at(Segments([active]))
    assert not barrier.is_reached(Segments([active]))
    # Later syncs of the node do not matter.
    later = replace(active, idx=Idx(offset=90), acknowledged_position=50)
    assert barrier.is_reached(Segments([later]))


def test_barrier_passes_final_segment_once_drained_or_removed() -> None:
    final = Segment(NAME, idx=Idx(completed=True), is_final=True, read_position=90)
    barrier = barrier_at(Segments([final]))
    assert not barrier.is_reached(Segments([final]))
    read = replace(final, is_read_to_end=True, acknowledged_position=80)
    assert not barrier.is_reached(Segments([read]))
    assert barrier.is_reached(Segments([replace(read, acknowledged_position=90)]))
    assert barrier.is_reached(Segments([]))


def test_barrier_passes_lost_segment_once_loss_is_recorded() -> None:
    lost = Segment(NAME, idx=Idx(offset=50), is_lost=True)
    barrier = barrier_at(Segments([replace(lost, is_lost=False)]))
    assert not barrier.is_reached(Segments([lost]))
    assert barrier.is_reached(Segments([replace(lost, is_reported=True)]))


OPTIONS = {"class": "NetworkTopologyStrategy", "dc1": "3"}


def held_probe(
    at_ms: int,
    *ranges: tuple[int, int],
    options: dict[str, str] = OPTIONS,
    keyspaces: tuple[str, ...] = ("ks",),
    tables: tuple[str, ...] = ("ks.t",),
) -> NodeProbe:
    found = tuple(TokenRange(after, to) for after, to in ranges)
    replication = (Replication(keyspaces, options, found),)
    return NodeProbe(at_ms, 1, "a", 0, False, tables, replication, None)


def test_changed_replication_restarts_held_ranges() -> None:
    before = Holdings().after(held_probe(1, (0, 100)))
    (held,) = before.after(held_probe(2, (0, 100), options={**OPTIONS, "dc1": "1"})).replication
    assert held.ranges == (HeldRange(0, 100, 2),)


def test_keyspaces_of_different_ages_are_held_separately() -> None:
    both = (
        Holdings()
        .after(held_probe(1, (0, 100)))
        .after(held_probe(2, (0, 100), keyspaces=("ks", "new")))
    )
    assert [(held.keyspaces, held.ranges[0].since_ms) for held in both.replication] == [
        (("ks",), 1),
        (("new",), 2),
    ]


def test_tables_retain_first_time_while_published() -> None:
    before = Holdings().after(held_probe(1, tables=("ks.t", "ks.u")))
    after = before.after(held_probe(2, tables=("ks.t", "ks.v")))
    assert after.tables == {"ks.t": 1, "ks.v": 2}
    assert after.after(held_probe(3, tables=("ks.u",))).tables == {"ks.u": 3}


def test_holdings_survive_round_trip() -> None:
    holdings = Holdings().after(held_probe(1, (-(1 << 63), (1 << 63) - 1)))
    assert holdings_from_json(holdings.to_json()) == holdings


BOUNDS = st.lists(st.integers(0, 12), unique=True, min_size=2, max_size=8).map(
    lambda bounds: [(a, b) for a, b in zip(sorted(bounds)[::2], sorted(bounds)[1::2], strict=False)]
)


@given(st.lists(BOUNDS, min_size=1, max_size=4))
def test_token_age_is_uninterrupted_holding_time(
    story: list[list[tuple[int, int]]],
) -> None:
    holdings = Holdings()
    since: dict[int, int] = {}
    for at_ms, ranges in enumerate(story):
        holdings = holdings.after(held_probe(at_ms, *ranges))
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
