"""Counters: the shards of all leaders, and their sum (`CounterContext`).

A shard is the total of one leader. The shard with the largest clock is the latest of its leader.
Shards of different leaders add up, so write times only matter for deletions.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import total_ordering

_SHARD = struct.Struct(">16sqq")


class CounterContextError(ValueError):
    """A counter context is invalid or lacks totals. The message has its bytes in hex."""

    def __init__(self, context: bytes) -> None:
        super().__init__(f"no counter context with a total for each leader: {context.hex()}")


@total_ordering
@dataclass(frozen=True, slots=True)
class Shard:
    """The total of one leader. The larger shard is the newer one."""

    clock: int
    count: int
    ts_us: int
    """Write time of the cell with this shard."""

    def __lt__(self, other: "Shard") -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[int, int, bytes]:
        # A leader has one count at a clock; the rest makes the order total.
        return self.clock, self.ts_us, self.count.to_bytes(8, "big", signed=True)


@dataclass(slots=True)
class Counter:
    """One column of one row."""

    shards: dict[bytes, Shard] = field(default_factory=dict)
    is_deleted: bool = False
    """Whether the counter itself was deleted, which no later write undoes."""

    def add(self, shards: Mapping[bytes, Shard]) -> None:
        """Merge shards, in any order and any number of times."""
        for counter_id, shard in shards.items():
            self.shards[counter_id] = max(self.shards.get(counter_id, shard), shard)

    def value(self, deleted_to_us: int | None) -> int | None:
        """The value in SELECT if everything up to this write time is deleted."""
        live = [
            shard.count
            for shard in self.shards.values()
            if deleted_to_us is None or shard.ts_us > deleted_to_us
        ]
        return None if self.is_deleted or not live else sum(live)


def read_shards(context: bytes, ts_us: int) -> dict[bytes, Shard]:
    """The shards in the raw value of a counter cell, by counter id.

    Raises CounterContextError for an invalid context, and for shards of releases before 2.1, which
    are differences instead of totals.
    """
    entries = int.from_bytes(context[:2], "big")
    header, shards = context[2 : 2 + 2 * entries], context[2 + 2 * entries :]
    # The header has an element for each shard that is a total, plus the lowest number.
    are_totals = all(high >= 0x80 for high in header[::2])
    if len(context) != 2 + entries * (2 + _SHARD.size) or not are_totals:
        raise CounterContextError(context)
    return {
        counter_id: Shard(clock, count, ts_us)
        for counter_id, clock, count in _SHARD.iter_unpack(shards)
    }
