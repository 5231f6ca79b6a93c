"""Cells, liveness and deletions as ordered values; the larger one takes precedence.

The orders are those of `Cells#resolveRegular`, `LivenessInfo#supersedes` and
`DeletionTime#supersedes`. They are total, so merging is a maximum.
"""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import total_ordering
from typing import Any

NEVER_S = 1 << 62
"""The local deletion time of values that never expire."""


class State(IntEnum):
    """The state of a cell. The larger one takes precedence at equal write times."""

    LIVE = 0
    EXPIRING = 1
    TOMBSTONE = 2


@dataclass(frozen=True, slots=True, order=True)
class Deletion:
    """Deletes all writes up to `ts_us`."""

    ts_us: int
    ldt_s: int

    def covers(self, ts_us: int) -> bool:
        return ts_us <= self.ts_us


@total_ordering
@dataclass(frozen=True, slots=True)
class Liveness:
    """The row marker of an INSERT. `ttl_s` is 0 if it does not expire."""

    ts_us: int
    ttl_s: int = 0
    ldt_s: int = NEVER_S

    def __lt__(self, other: "Liveness") -> bool:
        return self._rank() < other._rank()

    def is_live(self, now_s: int) -> bool:
        return not self.ttl_s or now_s < self.ldt_s

    def _rank(self) -> tuple[int, bool, int, int]:
        # The TTL has no visible effect; it makes the order total.
        return self.ts_us, self.ttl_s != 0, self.ldt_s, -self.ttl_s


@total_ordering
@dataclass(frozen=True, slots=True)
class Cell:
    """One value with its time. `ttl_s` is 0 if it does not expire; a tombstone has no value. `path`
    is the element as written; the last of equal elements counts."""

    state: State
    ts_us: int
    ttl_s: int
    ldt_s: int
    value: bytes
    path: bytes | None = None

    def __lt__(self, other: "Cell") -> bool:
        return self._rank() < other._rank()

    def is_live(self, now_s: int) -> bool:
        match self.state:
            case State.LIVE:
                return True
            case State.EXPIRING:
                return now_s < self.ldt_s
            case State.TOMBSTONE:
                return False

    def _rank(self) -> tuple[int, State, int, int, bytes, bytes]:
        # Cassandra may choose any of equal elements; the path makes the order total.
        return self.ts_us, self.state, self.ldt_s, -self.ttl_s, self.value, self.path or b""


def read_deletion(member: Mapping[str, Any]) -> Deletion:
    return Deletion(member["ts"], member.get("ldt", NEVER_S))


def read_liveness(member: Mapping[str, Any]) -> Liveness:
    return Liveness(member["ts"], member.get("ttl", 0), member.get("ldt", NEVER_S))


def read_cell(member: Mapping[str, Any]) -> Cell:
    ttl_s = member.get("ttl", 0)
    ldt_s = member.get("ldt", NEVER_S)
    path = b64decode(member["path"], validate=True) if "path" in member else None
    if member["val"] is None:
        return Cell(State.TOMBSTONE, member["ts"], 0, ldt_s, b"", path)
    state = State.EXPIRING if ttl_s else State.LIVE
    return Cell(state, member["ts"], ttl_s, ldt_s, b64decode(member["val"], validate=True), path)
