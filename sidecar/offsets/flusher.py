"""Saves progress, at most once in an interval."""

import logging
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from sidecar.errors import OffsetSaveError
from sidecar.logs import RateLimitedLog
from sidecar.metrics import DeliveryMetrics

logger = logging.getLogger(__name__)

Reached = TypeVar("Reached")
"""The progress as a frozen value: another object whenever it is another value."""

_RETRY_S = 1.0


class OffsetStore(Protocol):
    """`PropertiesStore`, as far as a pipeline needs it."""

    def save(self, values: Mapping[str, str], /) -> None:
        """Durable on return. Raises OffsetSaveError."""


class OffsetFlusher(Generic[Reached]):
    """The progress that is reached and the progress that is stored.

    It saves at most once in `flush_interval_s`, and retries a failed save at most once a second.
    """

    def __init__(
        self,
        store: OffsetStore,
        reached: Reached,
        entries: Callable[[Reached], Mapping[str, str]],
        flush_interval_s: float,
        *,
        metrics: DeliveryMetrics,
        clock: Callable[[], float],
    ) -> None:
        """`entries` turns progress into names and values; `clock` gives seconds."""
        self._store = store
        self._entries = entries
        self._flush_interval_s = flush_interval_s
        self._metrics = metrics
        self._clock = clock
        self._next_save_s = clock()
        self._repeated = RateLimitedLog(logger)
        self.reached = reached
        self.stored = reached
        self.error = ""
        """Why the last save failed; empty when it did not."""

    @property
    def is_dirty(self) -> bool:
        """True when there is progress that is not stored."""
        return self.reached is not self.stored

    @property
    def due_in_s(self) -> float | None:
        """When a save is due; None when there is nothing to save."""
        return max(0.0, self._next_save_s - self._clock()) if self.is_dirty else None

    def save_first(self) -> None:
        """Stores the first position. Raises OffsetSaveError."""
        self._store.save(self._entries(self.reached))

    def save_last(self) -> bool:
        """Stores the progress at the end, without any pause; True on success."""
        self._next_save_s = self._clock()
        return self.save()

    def save(self, *, at_once: bool = False) -> bool:
        """Stores the progress when that is due; True when all of it is stored.

        With `at_once` it skips the interval, but not the pause after a failure."""
        if not self.is_dirty:
            return True
        is_due = self._clock() >= self._next_save_s
        if not is_due and not (at_once and not self.error):
            return False
        reached = self.reached
        try:
            self._store.save(self._entries(reached))
        except OffsetSaveError as error:
            self._metrics.offset_save_failures.inc()
            self.error = str(error)
            self._repeated.log("save", self.error)
            self._next_save_s = self._clock() + max(_RETRY_S, self._flush_interval_s)
            return False
        self._metrics.offset_saves.inc()
        self._metrics.offset_saved_timestamp_seconds.set_to_current_time()
        self.error = ""
        self._repeated.resolved("save", "The agent can save its offsets again.")
        self.stored = reached
        self._next_save_s = self._clock() + self._flush_interval_s
        return True
