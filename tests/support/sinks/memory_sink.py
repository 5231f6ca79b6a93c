"""A sink in memory, which acknowledges at once or on request."""

import threading
from collections.abc import Iterable
from typing import Any

from sidecar.errors import SidecarError
from sidecar.events import Message, NumberedBatch
from sidecar.sinks.base import DeliveryResult, FailedEvent, SinkState


class MemorySink:
    """Stores every accepted message in `messages`, in order, with its number.

    With `automatic` false it acknowledges nothing before `acknowledge` or `fail` is called.
    `capacity` bounds the events that wait for this.
    """

    def __init__(self, *, automatic: bool = True, capacity: int | None = None) -> None:
        self.messages: list[tuple[int, Message]] = []
        self.waiting: list[int] = []
        self.dead_letters: list[int] = []
        self.is_open = False
        self.automatic = automatic
        self.capacity = capacity
        self._acknowledged: list[range] = []
        self._failed: list[FailedEvent] = []
        self._error: SidecarError | None = None
        self._away: str | None = None
        # A test acknowledges in a thread of its own.
        self._lock = threading.RLock()

    def open(self) -> None:
        self.is_open = True

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        self._raise_error()
        if self._away is not None:
            return 0
        with self._lock:
            return self._take(numbered, start)

    def _take(self, numbered: NumberedBatch[Any, Any], start: int) -> int:
        stop = len(numbered.batch)
        if self.capacity is not None:
            stop = min(stop, start + self.capacity - len(self.waiting))
        if stop <= start:
            return 0
        numbers = range(numbered.first + start, numbered.first + stop)
        self.messages.extend(zip(numbers, numbered.batch.messages(start, stop), strict=True))
        if self.automatic:
            self._acknowledged.append(numbers)
        else:
            self.waiting.extend(numbers)
        return stop - start

    def poll(self, timeout_s: float) -> DeliveryResult:
        """Never waits."""
        self._raise_error()
        with self._lock:
            outcome = DeliveryResult(tuple(self._acknowledged), tuple(self._failed))
            self._acknowledged.clear()
            self._failed.clear()
            return outcome

    def state(self) -> SinkState:
        if self._away is not None:
            return SinkState(False, self._away)
        return SinkState(True, f"{len(self.messages)} events are in memory")

    def dead_letter(self, number: int) -> None:
        """Keeps the number in `dead_letters`."""
        self.dead_letters.append(number)

    def close(self, deadline_s: float) -> DeliveryResult:
        self.is_open = False
        self._error = None
        self.waiting.clear()
        return self.poll(0)

    def acknowledge(self, numbers: Iterable[int] | None = None) -> None:
        """Let these waiting events be safe; all of them without an argument."""
        with self._lock:
            for number in list(self.waiting) if numbers is None else list(numbers):
                self.waiting.remove(number)
                self._acknowledged.append(range(number, number + 1))

    def fail(self, number: int, reason: str) -> None:
        """Let one waiting event fail alone."""
        with self._lock:
            self.waiting.remove(number)
            self._failed.append(FailedEvent(number, reason))

    def go_away(self, sentence: str) -> None:
        """Take nothing until `come_back`."""
        self._away = sentence

    def come_back(self) -> None:
        self._away = None

    def raise_next(self, error: SidecarError) -> None:
        """Raise this from `send` and `poll` until the sink is closed."""
        self._error = error

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
