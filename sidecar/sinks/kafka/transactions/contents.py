"""The contents of a transaction: its events, events to resend, its positions, and its end.

A transaction ends at a commit point: an event after which the position covers all earlier events.
Positions only advance, and change after the last event that they cover.
"""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidecar.events import DeliveryBatch
from sidecar.offsets.position_store import PositionRecords, Positions
from sidecar.sinks.kafka.in_flight import BatchSlice, runs_without


def next_commit_point(batch: DeliveryBatch[Any], events: int) -> int:
    """Return the first commit point at or after this many events."""
    if events <= 0 or events >= len(batch):
        return min(max(events, 0), len(batch))
    before = batch.position_after(events - 1)
    return bisect_left(
        range(len(batch)),
        True,
        lo=events,
        key=lambda index: bool(batch.position_after(index) != before),
    )


def last_commit_point(batch: DeliveryBatch[Any], events: int) -> int:
    """Return the last commit point at or before this many events."""
    if events <= 0 or events >= len(batch):
        return min(max(events, 0), len(batch))
    reached = batch.position_after(events)
    return bisect_left(
        range(events), True, key=lambda index: bool(batch.position_after(index) == reached)
    )


@dataclass(frozen=True, slots=True)
class CommitRule:
    """A transaction with events is committed after `interval_s`, or as soon as it contains
    `max_events` or `max_bytes` (keys and values). A position that advances without events is stored
    `position_interval_s` after the previous commit."""

    interval_s: float = 0.25
    position_interval_s: float = 1.0
    max_events: int = 50_000
    max_bytes: int = 8 << 20

    def is_full(self, events: int, size_bytes: int) -> bool:
        return events >= self.max_events or size_bytes >= self.max_bytes

    def due_in_s(
        self, events: int, size_bytes: int, open_for_s: float, stored_for_s: float, has_moved: bool
    ) -> float:
        """Return the seconds until the next commit, infinite if there is none. `open_for_s` is the
        age of the transaction with these events, `stored_for_s` the age of the latest commit."""
        if events:
            is_full = self.is_full(events, size_bytes)
            return 0.0 if is_full else max(0.0, self.interval_s - open_for_s)
        return max(0.0, self.position_interval_s - stored_for_s) if has_moved else math.inf


class TransactionContents:
    """Slices in order: first the slices in the transaction, then slices to resend (`unsent`).
    Excluded events were rejected: they count as part of the contents but are never sent."""

    def __init__(self) -> None:
        self._sent: list[BatchSlice] = []
        self._unsent: deque[BatchSlice] = deque()
        self._excluded: set[int] = set()
        self.events = 0
        self.size_bytes = 0

    @property
    def unsent(self) -> BatchSlice | None:
        """The slice that must be sent before anything else."""
        return self._unsent[0] if self._unsent else None

    def exclude(self, number: int) -> None:
        self._excluded.add(number)

    def without_excluded(
        self, numbers: range, arguments: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        pairs = zip(numbers, arguments, strict=False)
        if not self._excluded:
            return pairs
        return (pair for pair in pairs if pair[0] not in self._excluded)

    def sent(self, piece: BatchSlice) -> None:
        """Record that these events, the first unsent events if any, are in the transaction."""
        if self._unsent:
            left = replace(self._unsent.popleft(), first=piece.stop)
            if len(left):
                self._unsent.appendleft(left)
        else:
            self.events += len(piece)
            batch = piece.numbered.batch
            self.size_bytes += batch.size_bytes * len(piece) // max(1, len(batch))
        last = self._sent[-1] if self._sent else None
        if last is not None and last.numbered is piece.numbered and last.stop == piece.first:
            self._sent[-1] = replace(last, stop=piece.stop)
        elif len(piece):
            self._sent.append(piece)

    def aborted(self) -> None:
        """Queue everything for resending."""
        self._unsent.extendleft(reversed(self._sent))
        self._sent.clear()

    def committed(self) -> list[range]:
        """Return the committed numbers without the excluded events, and clear the contents."""
        runs = [r for piece in self._sent for r in runs_without(piece.numbers, self._excluded)]
        self._sent.clear()
        self._excluded.clear()
        self.events = self.size_bytes = 0
        return runs


_Reached = tuple[DeliveryBatch[Any], int]
"""The position after this many events of a batch."""


class SourcePositions:
    """Positions in the topic, and positions reached by delivery. Used by the sink's thread."""

    def __init__(self, records: PositionRecords) -> None:
        self._records = records
        self.stored: Positions = {}
        self._reached: dict[Any, _Reached] = {}
        self._in_commit: dict[Any, _Reached] = {}
        self._after_commit: Positions = {}

    @property
    def has_moved(self) -> bool:
        return bool(self._reached)

    def reach(self, source: Any, batch: DeliveryBatch[Any], events: int) -> None:
        """Record that every event of the source up to `events` of the batch is in a transaction."""
        self._reached[source] = (batch, events)

    def current(self) -> Positions:
        """Return the positions of all sources, including unstored positions."""
        reached = {
            str(source): self._records.values(source, batch.position_after(events))
            for source, (batch, events) in self._reached.items()
        }
        return {**self.stored, **reached}

    def begin_commit(self, positions: Positions) -> None:
        """Record that the transaction contains these positions."""
        self._in_commit, self._after_commit = dict(self._reached), positions

    def committed(self) -> None:
        """Record that the positions of `begin_commit` are stored."""
        self.stored = self._after_commit
        for source, at in self._in_commit.items():
            if self._reached.get(source) is at:
                del self._reached[source]

    def discard_reached(self) -> None:
        self._reached.clear()
