"""One node copies each part of the ring, for any replication."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.snapshot.ring import (
    MAX_TOKEN,
    MIN_TOKEN,
    RingNode,
    primary_ranges,
    replica_ranges,
    whole_ring,
)
from sidecar.errors import ConfigError

SIMPLE = {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "3"}
TOPOLOGY = "org.apache.cassandra.locator.NetworkTopologyStrategy"


@st.composite
def rings(draw: st.DrawFn) -> list[RingNode]:
    tokens = draw(
        st.lists(st.integers(MIN_TOKEN + 1, MAX_TOKEN), min_size=1, max_size=40, unique=True)
    )
    owners = draw(st.lists(st.integers(0, 5), min_size=len(tokens), max_size=len(tokens)))
    return [
        RingNode(
            f"node-{number}",
            f"dc{number % 2}",
            tuple(t for t, owner in zip(tokens, owners, strict=True) if owner == number),
        )
        for number in sorted(set(owners))
    ]


@given(rings(), st.sampled_from((SIMPLE, {"class": TOPOLOGY, "dc0": "3", "dc1": "0"})))
def test_primary_ranges_of_all_nodes_cover_ring_once(
    ring: list[RingNode], replication: dict[str, str]
) -> None:
    holders = [n for n in ring if replication is SIMPLE or n.datacenter == "dc0"]
    found = sorted(
        each for node in ring for each in primary_ranges(ring, node.host_id, replication)
    )
    if not holders:
        assert found == []
        return
    assert (found[0].after, found[-1].to) == (MIN_TOKEN, MAX_TOKEN)
    assert all(left.to == right.after for left, right in pairwise(found))


@given(rings(), st.data())
def test_range_belongs_to_the_next_replica(ring: list[RingNode], data: st.DataObject) -> None:
    """Cassandra's strategy walks from a token to the first node that may hold the token."""
    replication = {"class": TOPOLOGY, "dc1": "2/1"}
    token = data.draw(st.integers(MIN_TOKEN + 1, MAX_TOKEN))
    owners = sorted((t, node) for node in ring for t in node.tokens)
    walk = [n for t, n in owners if t >= token] + [n for t, n in owners if t < token]
    first = next((node for node in walk if node.datacenter == "dc1"), None)
    copying = [
        node
        for node in ring
        for each in primary_ranges(ring, node.host_id, replication)
        if each.after < token <= each.to
    ]
    assert copying == ([] if first is None else [first])


def test_unknown_replication_strategy_is_reported() -> None:
    with pytest.raises(ConfigError, match=r"snapshot\.ranges=all"):
        primary_ranges([RingNode("a", "dc", (0,))], "a", {"class": "com.example.Mine"})


@st.composite
def racked_rings(draw: st.DrawFn) -> list[RingNode]:
    nodes = draw(rings())
    return [
        RingNode(node.host_id, node.datacenter, node.tokens, f"rack{draw(st.integers(0, 2))}")
        for node in nodes
    ]


def natural_replicas(ring: list[RingNode], token: int, replication: dict[str, str]) -> set[str]:
    """Cassandra's walk of one token, as implemented in `NetworkTopologyStrategy`."""
    owners = sorted((t, node.host_id, node) for node in ring for t in node.tokens)
    walk = [n for t, _, n in owners if t >= token] + [n for t, _, n in owners if t < token]
    if replication is SIMPLE:
        return set(list(dict.fromkeys(node.host_id for node in walk))[:3])
    replicas: set[str] = set()
    for datacenter in ("dc0", "dc1"):
        members = [node for node in walk if node.datacenter == datacenter]
        factor = int(replication.get(datacenter, "0"))
        left = min(factor, len({node.host_id for node in members}))
        acceptable_repeats = factor - len({node.rack for node in members})
        seen: set[str] = set()
        for node in members:
            if left == 0 or node.host_id in replicas:
                continue
            if node.rack in seen:
                if acceptable_repeats <= 0:
                    continue
                acceptable_repeats -= 1
            seen.add(node.rack)
            replicas.add(node.host_id)
            left -= 1
    return replicas


@given(
    racked_rings(),
    st.sampled_from(
        (
            SIMPLE,
            *({"class": TOPOLOGY, "dc0": str(a), "dc1": str(b)} for a in range(4) for b in (0, 2)),
        )
    ),
    st.data(),
)
def test_replica_ranges_match_natural_replicas(
    ring: list[RingNode], replication: dict[str, str], data: st.DataObject
) -> None:
    token = data.draw(st.integers(MIN_TOKEN + 1, MAX_TOKEN))
    found = {
        node.host_id
        for node in ring
        for each in replica_ranges(ring, node.host_id, replication)
        if each.after < token <= each.to
    }
    assert found == natural_replicas(ring, token, replication)
    for node in ring:
        ranges = replica_ranges(ring, node.host_id, replication)
        assert all(left.to < right.after for left, right in pairwise(ranges))
        primary = primary_ranges(ring, node.host_id, replication)
        assert sum(each.size for each in primary) <= sum(each.size for each in ranges)


def test_every_node_reads_whole_ring_if_all_are_replicas() -> None:
    ring = [RingNode("a", "dc", (0,)), RingNode("b", "dc", (100,))]
    for name in ("org.apache.cassandra.locator.EverywhereStrategy", SIMPLE["class"]):
        assert replica_ranges(ring, "b", {"class": name, "replication_factor": "2"}) == whole_ring()
    assert replica_ranges(ring, "c", SIMPLE) == ()
    with pytest.raises(ConfigError, match=r"com\.example|Mine"):
        replica_ranges(ring, "a", {"class": "com.example.Mine"})
