"""Counters: what each leader has counted so far, and their sum (`CounterContext`).

A shard is one leader's own total; the one with the largest clock says it. No shard wins over one
of another leader, so write times decide nothing but what a deletion covers.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import total_ordering

_SHARD = struct.Struct(">16sqq")


class CounterContextError(ValueError):
    """Bytes that are no counter context with totals; the message has them in hex."""

    def __init__(self, context: bytes) -> None:
        super().__init__(f"no counter context with a total for each leader: {context.hex()}")


@total_ordering
@dataclass(frozen=True, slots=True)
class Shard:
    """What one leader has counted; the larger one is the newer one."""

    clock: int
    count: int
    ts_us: int
    """Write time of the cell that says so."""

    def __lt__(self, other: "Shard") -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[int, int, bytes]:
        # A leader says one count at a clock; the rest makes the order total.
        return self.clock, self.ts_us, self.count.to_bytes(8, "big", signed=True)


@dataclass(slots=True)
class Counter:
    """One column of one row."""

    shards: dict[bytes, Shard] = field(default_factory=dict)
    is_deleted: bool = False
    """By itself, which nothing that is written later undoes."""

    def add(self, shards: Mapping[bytes, Shard]) -> None:
        """Take in what leaders say; in any order and any number of times."""
        for counter_id, shard in shards.items():
            self.shards[counter_id] = max(self.shards.get(counter_id, shard), shard)

    def value(self, deleted_to_us: int | None) -> int | None:
        """What SELECT gives when everything up to that write time is deleted."""
        live = [
            shard.count
            for shard in self.shards.values()
            if deleted_to_us is None or shard.ts_us > deleted_to_us
        ]
        return None if self.is_deleted or not live else sum(live)


def read_shards(context: bytes, ts_us: int) -> dict[bytes, Shard]:
    """The shards in the raw value of a counter cell, by counter id.

    Raises CounterContextError for bytes that are none, and for shards of releases before 2.1,
    which are differences and not totals.
    """
    entries = int.from_bytes(context[:2], "big")
    header, shards = context[2 : 2 + 2 * entries], context[2 + 2 * entries :]
    # The header has an element for each shard that is a total, with the lowest number added.
    are_totals = all(high >= 0x80 for high in header[::2])
    if len(context) != 2 + entries * (2 + _SHARD.size) or not are_totals:
        raise CounterContextError(context)
    return {
        counter_id: Shard(clock, count, ts_us)
        for counter_id, clock, count in _SHARD.iter_unpack(shards)
    }
