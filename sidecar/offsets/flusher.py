"""Saves progress, at most once per interval."""

import logging
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from sidecar.errors import OffsetSaveError
from sidecar.logs import RateLimitedLog
from sidecar.metrics import DeliveryMetrics

logger = logging.getLogger(__name__)

Reached = TypeVar("Reached")
"""The progress as a frozen value; changed progress must be a new object."""

_RETRY_S = 1.0


class OffsetStore(Protocol):
    """The part of `PropertiesStore` that a pipeline needs."""

    def save(self, values: Mapping[str, str], /) -> None:
        """Saves durably. Raises OffsetSaveError."""


class OffsetFlusher(Generic[Reached]):
    """Tracks reached and stored progress.

    It saves at most once per `flush_interval_s`, and retries a failed save at most once a second.
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
        """`entries` converts progress to names and values; `clock` returns seconds."""
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
        """Why the latest save failed; empty if it succeeded."""

    @property
    def is_dirty(self) -> bool:
        return self.reached is not self.stored

    @property
    def due_in_s(self) -> float | None:
        """Seconds until a save is due; None if there is nothing to save."""
        return max(0.0, self._next_save_s - self._clock()) if self.is_dirty else None

    def save_first(self) -> None:
        """Stores the first position. Raises OffsetSaveError."""
        self._store.save(self._entries(self.reached))

    def save_last(self) -> bool:
        """Stores the final progress without a pause. Returns True on success."""
        self._next_save_s = self._clock()
        return self.save()

    def save(self, *, at_once: bool = False) -> bool:
        """Stores the progress if a save is due. Returns True if all progress is stored.

        `at_once` skips the interval, but not the pause after a failure."""
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
