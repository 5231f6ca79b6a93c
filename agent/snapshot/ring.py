"""Which part of the ring a node copies: the ranges whose first replica it is. Pure.

Cassandra's primary range (`StorageService#getPrimaryRanges`): the range that ends at a token
belongs to the first node from there on that holds replicas of the keyspace. So the ranges of all
nodes are the whole ring, each part once, also where whole datacenters hold nothing of a keyspace.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sidecar.errors import ConfigError

MIN_TOKEN = -(1 << 63)
"""Nothing has it: ranges begin behind it."""
MAX_TOKEN = (1 << 63) - 1

PARTITIONER = "org.apache.cassandra.dht.Murmur3Partitioner"
_FIRST_WITH_ELEMENT_TIMES = 5


@dataclass(frozen=True, slots=True, order=True)
class TokenRange:
    """The tokens behind `after` up to and including `to`; it never wraps around."""

    after: int
    to: int

    @property
    def size(self) -> int:
        """Tokens in it."""
        return self.to - self.after


@dataclass(frozen=True, slots=True)
class RingNode:
    """A node with its tokens."""

    host_id: str
    datacenter: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ring:
    """The nodes as this one sees them, and whose release answers."""

    host_id: str
    nodes: tuple[RingNode, ...]
    release: tuple[int, ...]

    @property
    def has_element_times(self) -> bool:
        """`WRITETIME` and `TTL` of a collection give a list (CASSANDRA-8877)."""
        return self.release[0] >= _FIRST_WITH_ELEMENT_TIMES


def whole_ring() -> tuple[TokenRange, ...]:
    return (TokenRange(MIN_TOKEN, MAX_TOKEN),)


def primary_ranges(
    nodes: Iterable[RingNode], host_id: str, replication: Mapping[str, str]
) -> tuple[TokenRange, ...]:
    """The ranges of the node with this id, in order; neighbours are one.

    `replication` as `system_schema.keyspaces` has it. Raises ConfigError for a strategy that is
    not known; a node that holds nothing of the keyspace has no ranges.
    """
    holds = _holders(replication)
    owners = sorted(
        (token, node.host_id, holds is None or node.datacenter in holds)
        for node in nodes
        for token in node.tokens
    )
    firsts = _first_replicas([(owner, is_holder) for _, owner, is_holder in owners])
    tokens = [token for token, _, _ in owners]
    found: list[TokenRange] = []
    if not tokens:
        return ()
    for (after, to), first in zip(pairwise([tokens[-1], *tokens]), firsts, strict=True):
        if first == host_id:
            found += _unwrapped(after, to)
    return tuple(_joined(sorted(found)))


def _holders(replication: Mapping[str, str]) -> frozenset[str] | None:
    """The datacenters that hold replicas; None: all of them."""
    strategy = replication.get("class", "").rpartition(".")[2]
    match strategy:
        case "SimpleStrategy" | "EverywhereStrategy":
            return None
        case "NetworkTopologyStrategy":
            counts = {name: text for name, text in replication.items() if name != "class"}
            # `3/1` are three replicas, one of them transient.
            return frozenset(
                name for name, text in counts.items() if int(text.partition("/")[0]) > 0
            )
    raise ConfigError(
        f"The replication strategy {strategy or '(none)'} is not known, so nobody can say which "
        "rows this node copies; set snapshot.ranges=all on one node and snapshot.mode=never on "
        "the others."
    )


def _first_replicas(owners: Sequence[tuple[str, bool]]) -> list[str | None]:
    """For each token the first node from it on that holds replicas."""
    firsts: list[str | None] = [None] * len(owners)
    first: str | None = None
    # Twice around: behind the last token comes the first one.
    for index in reversed(range(2 * len(owners))):
        owner, is_holder = owners[index % len(owners)]
        if is_holder:
            first = owner
        firsts[index % len(owners)] = first
    return firsts


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
