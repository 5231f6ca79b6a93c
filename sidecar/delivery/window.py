"""The window of unacknowledged events: numbers, acknowledgements in any order, the watermark.

Every event gets a number. The watermark is the largest number below which every event is
acknowledged, so a position derived from it never skips an event. The window is the only buffer
between reading and acknowledgement. Its events and bytes are limited:

    numbers   100        104      watermark = 106         next_number = 112
               │ batch A  │ batch B  ▼          batch C       ▼
               ├──────────┼──────────┬────────────────────────┤
               │ ■ ■ ■ ■  │  ■  ■    □    ■   □   □   ■   □   │     ■ acknowledged
               └──────────┴───────────────────────────────────┘
               progress: A at its end, B where its last whole mutation below 106 ends

A batch knows its positions (`DeliveryBatch.position_after`); this module only counts.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic

from sidecar.events import DeliveryBatch, Message, NumberedBatch, Position, Source


@dataclass(frozen=True, slots=True)
class Progress(Generic[Source, Position]):
    """Events of `source` are delivered up to `position`."""

    source: Source
    position: Position


class _Slot(Generic[Source, Position]):
    """One batch in the window. `batch` is None once all its events are acknowledged."""

    __slots__ = ("added_at_s", "batch", "done", "end", "first", "remaining", "size_bytes", "source")

    def __init__(self, numbered: NumberedBatch[Source, Position], added_at_s: float) -> None:
        events = len(numbered.batch)
        self.source = numbered.source
        self.first = numbered.first
        self.done = bytearray(events)
        self.remaining = events
        self.end = numbered.batch.position_after(events)
        self.batch = numbered.batch if events else None
        self.size_bytes = numbered.batch.size_bytes if events else 0
        self.added_at_s = added_at_s


class Window(Generic[Source, Position]):
    """The events that are read but not yet acknowledged. Not thread-safe.

    `add` does not enforce the limits: the caller checks `room` first. Operations iterate over
    batches or runs of acknowledged numbers, never over events.
    """

    def __init__(
        self,
        max_events: int,
        max_bytes: int,
        *,
        first_number: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` returns seconds; `first_number` is the previous window's `next_number`."""
        if max_events < 1 or max_bytes < 1:
            raise ValueError("window: its limits must be at least one event and one byte")
        self.max_events = max_events
        self.max_bytes = max_bytes
        self._clock = clock
        self._slots: list[_Slot[Source, Position]] = []
        self._firsts: list[int] = []
        self.next_number = first_number
        self.watermark = first_number
        """The largest number below which every event is acknowledged."""
        self.buffered_bytes = 0
        """Size of keys and values in the window."""
        self.unacknowledged = 0
        self._reported: dict[Source, Position] = {}
        self._finished: dict[Source, Position] = {}

    @property
    def batches(self) -> int:
        """Number of batches; an empty batch is merged into a preceding batch of its source."""
        return len(self._slots)

    @property
    def room(self) -> tuple[int, int]:
        """Events and bytes that still fit, counted from the watermark: a crash may repeat all later
        events. The window is full if either is 0."""
        return (
            max(0, self.max_events - (self.next_number - self.watermark)),
            max(0, self.max_bytes - self.buffered_bytes),
        )

    @property
    def oldest_age_s(self) -> float | None:
        """Seconds since the oldest unacknowledged batch was added, or None if there is none."""
        return self._clock() - self._slots[0].added_at_s if self._slots else None

    def add(
        self, source: Source, batch: DeliveryBatch[Position]
    ) -> NumberedBatch[Source, Position]:
        """Numbers the events of a batch, which must follow the previous batch of its source."""
        numbered = NumberedBatch(source, batch, self.next_number)
        events = len(batch)
        last = self._slots[-1] if self._slots else None
        if not events and last is not None and last.source == source:
            last.end = batch.position_after(0)
            return numbered
        slot = _Slot(numbered, self._clock())
        self._slots.append(slot)
        self._firsts.append(slot.first)
        self.next_number += events
        self.unacknowledged += events
        self.buffered_bytes += slot.size_bytes
        self._advance()
        return numbered

    def acknowledge(self, runs: Iterable[range]) -> None:
        """Marks events as delivered or stored as dead letters, in any order; repeats are harmless.

        Raises ValueError for a number that is not assigned yet.
        """
        for run in runs:
            number = run.start
            while number < run.stop:
                slot = self._slot_of(number)
                if slot is None:
                    # Finished and dropped: continue with the first slot.
                    number = self._firsts[0] if self._firsts else self.next_number
                    continue
                first = number - slot.first
                stop = min(run.stop - slot.first, len(slot.done))
                newly_done = slot.done.count(0, first, stop)
                if newly_done:
                    slot.done[first:stop] = b"\1" * (stop - first)
                    self._settle(slot, newly_done)
                number = slot.first + stop
        self._advance()

    def message(self, number: int) -> Message:
        """Returns an unacknowledged event. Raises LookupError for any other number."""
        slot = self._slot_of(number) if number < self.next_number else None
        if slot is not None and slot.batch is not None and not slot.done[number - slot.first]:
            index = number - slot.first
            return slot.batch.messages(index, index + 1)[0]
        raise LookupError(f"event {number}: it is not in the window")

    def progress(self) -> list[Progress[Source, Position]]:
        """Returns each source whose position advanced since the previous call."""
        moved = self._finished
        self._finished = {}
        if self._slots:
            head = self._slots[0]
            if head.batch is not None and self.watermark > head.first:
                moved[head.source] = head.batch.position_after(self.watermark - head.first)
        changed = [
            Progress(source, position)
            for source, position in moved.items()
            if source not in self._reported or self._reported[source] != position
        ]
        pending = {slot.source for slot in self._slots}
        self._reported = {s: p for s, p in (self._reported | moved).items() if s in pending}
        return changed

    def _slot_of(self, number: int) -> _Slot[Source, Position] | None:
        """Returns the slot of a number, or None if that slot is finished and removed."""
        if number >= self.next_number:
            raise ValueError(
                f"event {number}: no event has this number yet; the next is {self.next_number}"
            )
        # Empty slots share their number with the slot after them, which bisect_right finds.
        index = bisect_right(self._firsts, number) - 1
        return self._slots[index] if index >= 0 else None

    def _settle(self, slot: _Slot[Source, Position], newly_done: int) -> None:
        slot.remaining -= newly_done
        self.unacknowledged -= newly_done
        if not slot.remaining and slot.batch is not None:
            slot.batch = None
            self.buffered_bytes -= slot.size_bytes

    def _advance(self) -> None:
        """Drops the finished slots at the head and advances the watermark."""
        finished = 0
        for slot in self._slots:
            if slot.remaining:
                break
            self._finished[slot.source] = slot.end
            finished += 1
        if finished:
            del self._slots[:finished]
            del self._firsts[:finished]
        if self._slots:
            head = self._slots[0]
            self.watermark = head.first + head.done.find(0, max(0, self.watermark - head.first))
        else:
            self.watermark = self.next_number
