"""How many replicas must be complete so that they contain every acknowledged write. Pure.

A write at a consistency level is acknowledged by *w* of *n* replicas. Any *n - w + 1* replicas
include at least one of these *w*. So if this many replicas are complete up to a time, they contain
every write that was acknowledged by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from spark_jobs.errors import InputError

WriteConsistency = Literal[
    "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"
]
"""`ANY` is missing, because a write that is stored only as a hint is in no commit log."""
_COUNTS = {"ONE": 1, "TWO": 2, "THREE": 3, "LOCAL_ONE": 1}


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """`needed` replicas must be complete, in a data center or, if None, in all of them together."""

    data_center: str | None
    replicas: int
    needed: int


@dataclass(frozen=True, slots=True)
class ReplicaRule:
    """All groups must be complete, or only one of them if `is_any`."""

    groups: tuple[ReplicaGroup, ...]
    is_any: bool = False


def replica_rule(options: Mapping[str, str], consistency: WriteConsistency) -> ReplicaRule:
    """The rule for a keyspace with these replication options.

    A `LOCAL_` write is acknowledged in the data center of its coordinator, which can be any. So
    each data center needs complete replicas. `EACH_QUORUM` has a quorum in each of them, so one
    data center suffices. Raises InputError for an unknown strategy.
    """
    factors = replication_factors(options)
    if not factors:
        raise InputError(f"The replication {dict(options)} has no replicas.")
    if consistency in ("LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"):
        is_one = consistency == "LOCAL_ONE"
        groups = (_group(name, n, 1 if is_one else n // 2 + 1) for name, n in factors.items())
        return ReplicaRule(tuple(groups), is_any=consistency == "EACH_QUORUM")
    total = sum(factors.values())
    written = {"QUORUM": total // 2 + 1, "ALL": total}.get(consistency) or _COUNTS[consistency]
    return ReplicaRule((_group(None, total, written),))


def replication_factors(options: Mapping[str, str]) -> dict[str | None, int]:
    """The number of replicas by data center, or of None if the strategy ignores data centers."""
    match options.get("class", "").rpartition(".")[2]:
        case "SimpleStrategy":
            return {None: int(options["replication_factor"].partition("/")[0])}
        case "NetworkTopologyStrategy":
            return {
                name: int(text.partition("/")[0])
                for name, text in sorted(options.items())
                if name != "class" and int(text.partition("/")[0]) > 0
            }
    raise InputError(
        f"The replication strategy {options.get('class') or '(none)'} is not supported: the number "
        "of its replicas is not in the watermarks."
    )


def _group(data_center: str | None, replicas: int, written: int) -> ReplicaGroup:
    return ReplicaGroup(data_center, replicas, max(1, replicas - written + 1))
