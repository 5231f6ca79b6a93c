"""Computes the token ranges that a node copies: its primary ranges, or all that it replicates.

Primary ranges follow Cassandra's `StorageService#getPrimaryRanges`: the range that ends at a token
belongs to the first node, from this token on, with replicas of the keyspace. So the ranges of all
nodes cover the ring exactly once, even if some datacenters have no replicas of the keyspace.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sidecar.errors import ConfigError

MIN_TOKEN = -(1 << 63)
"""No row has this token: ranges start after it."""
MAX_TOKEN = (1 << 63) - 1

PARTITIONER = "org.apache.cassandra.dht.Murmur3Partitioner"
_FIRST_WITH_ELEMENT_TIMES = 5


@dataclass(frozen=True, slots=True, order=True)
class TokenRange:
    """The tokens from `after` (exclusive) to `to` (inclusive); never wraps around."""

    after: int
    to: int

    @property
    def size(self) -> int:
        return self.to - self.after


@dataclass(frozen=True, slots=True)
class RingNode:
    host_id: str
    datacenter: str
    tokens: tuple[int, ...]
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Ring:
    """The nodes, and the release of the local node."""

    host_id: str
    nodes: tuple[RingNode, ...]
    release: tuple[int, ...]

    @property
    def has_element_times(self) -> bool:
        """Whether `WRITETIME` and `TTL` of a collection return a list (CASSANDRA-8877)."""
        return self.release[0] >= _FIRST_WITH_ELEMENT_TIMES


def whole_ring() -> tuple[TokenRange, ...]:
    return (TokenRange(MIN_TOKEN, MAX_TOKEN),)


def primary_ranges(
    nodes: Iterable[RingNode], host_id: str, replication: Mapping[str, str]
) -> tuple[TokenRange, ...]:
    """Returns a node's primary ranges, sorted, with adjacent ranges joined; empty without replicas.

    `replication` comes from `system_schema.keyspaces`. Raises ConfigError for unknown strategies.
    """
    holds = _replica_datacenters(replication)
    owners = sorted(
        (token, node.host_id, holds is None or node.datacenter in holds)
        for node in nodes
        for token in node.tokens
    )
    found: set[TokenRange] = set()
    first: str | None = None
    pairs = list(pairwise((*owners[-1:], *owners)))[::-1]
    # Backwards, so that `first` is known, and twice, because the first token follows the last.
    for (after, _, _), (to, owner, is_holder) in (*pairs, *pairs):
        if is_holder:
            first = owner
        if first == host_id:
            found.update(_unwrapped(after, to))
    return tuple(_joined(sorted(found)))


def replica_ranges(
    nodes: Iterable[RingNode], host_id: str, replication: Mapping[str, str]
) -> tuple[TokenRange, ...]:
    """Returns all ranges that a node replicates, sorted, with adjacent ranges joined. Raises
    ConfigError for unknown strategies. Walks the ring like `SimpleStrategy` and
    `NetworkTopologyStrategy#calculateNaturalReplicas`."""
    owners = sorted(
        ((token, node) for node in nodes for token in node.tokens), key=lambda owner: owner[0]
    )
    here = next((node for _, node in owners if node.host_id == host_id), None)
    replicas = _replicas(replication, here) if here is not None else 0
    if here is None or not replicas:
        return ()
    ring = [node for _, node in owners]
    tokens = [token for token, _ in owners]
    if _replica_datacenters(replication) is None:
        racks = None
        members = len({node.host_id for node in ring})
    else:
        # Other datacenters have their own replicas, independent of these.
        local = {node.host_id: node.rack for node in ring if node.datacenter == here.datacenter}
        racks = len(set(local.values()))
        members = len(local)
    found: list[TokenRange] = []
    for index, (after, to) in enumerate(pairwise([tokens[-1], *tokens])):
        walk = (ring[(index + step) % len(ring)] for step in range(len(ring)))
        if racks is not None:
            walk = (node for node in walk if node.datacenter == here.datacenter)
        if host_id in _held(walk, min(replicas, members), replicas, racks):
            found += _unwrapped(after, to)
    return tuple(_joined(sorted(found)))


def _replicas(replication: Mapping[str, str], node: RingNode) -> int:
    """Returns the number of replicas of a range in the node's datacenter, or in the whole ring."""
    holds = _replica_datacenters(replication)
    if holds is None:
        # EverywhereStrategy has no replication factor.
        text = replication.get("replication_factor", str(MAX_TOKEN))
    else:
        text = replication.get(node.datacenter, "0")
    return int(text.partition("/")[0])


def _held(
    walk: Iterable[RingNode], wanted: int, replicas: int, racks: int | None
) -> frozenset[str]:
    """Returns the nodes of the walk that are replicas. If `racks` is set, a rack is used again only
    as often as the replicas need it."""
    repeats = replicas - (racks or 0)
    held: set[str] = set()
    used: set[str] = set()
    for node in walk:
        if len(held) == wanted:
            break
        if node.host_id in held:
            continue
        if racks is not None and node.rack in used:
            if repeats <= 0:
                continue
            repeats -= 1
        used.add(node.rack)
        held.add(node.host_id)
    return frozenset(held)


def _replica_datacenters(replication: Mapping[str, str]) -> frozenset[str] | None:
    """Returns the datacenters with replicas; None means all datacenters."""
    strategy = replication.get("class", "").rpartition(".")[2]
    match strategy:
        case "SimpleStrategy" | "EverywhereStrategy":
            return None
        case "NetworkTopologyStrategy":
            counts = {name: text for name, text in replication.items() if name != "class"}
            # `3/1`: three replicas, one of them transient.
            return frozenset(
                name for name, text in counts.items() if int(text.partition("/")[0]) > 0
            )
    raise ConfigError(
        f"The replication strategy {strategy or '(none)'} is unknown, so the agent cannot compute "
        "the ranges of this node. Set snapshot.ranges=all on one node and snapshot.mode=never on "
        "the others."
    )


def _unwrapped(after: int, to: int) -> list[TokenRange]:
    if after < to:
        return [TokenRange(after, to)]
    halves = (TokenRange(after, MAX_TOKEN), TokenRange(MIN_TOKEN, to))
    return [half for half in halves if half.size]


def _joined(ranges: Iterable[TokenRange]) -> list[TokenRange]:
    joined: list[TokenRange] = []
    for each in ranges:
        if joined and joined[-1].to == each.after:
            joined[-1] = TokenRange(joined[-1].after, each.to)
        else:
            joined.append(each)
    return joined
