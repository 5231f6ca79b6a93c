"""What a loop shows of itself: a frozen view that any thread may look at, and when it was made."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sidecar.delivery import Window
from sidecar.metrics import DeliveryMetrics
from sidecar.sinks.base import SinkState

View = TypeVar("View")

_BUSY_INTERVAL_S = 0.25


class StatusPublisher(Generic[View]):
    """Keeps the view. It is replaced whole, so looking at it needs no lock."""

    def __init__(
        self,
        metrics: DeliveryMetrics,
        window_max_events: int,
        window_max_bytes: int,
        *,
        clock: Callable[[], float],
    ) -> None:
        """`clock` gives seconds."""
        self._delivery_metrics = metrics
        self._clock = clock
        self._shown_at_s = self._last_tick_s = clock()
        self._view: View | None = None
        metrics.window_limit_events.set(window_max_events)
        metrics.window_limit_bytes.set(window_max_bytes)

    @property
    def view(self) -> View:
        if self._view is None:
            raise RuntimeError("nothing is shown yet")
        return self._view

    @property
    def last_tick_s(self) -> float:
        """When the last turn was made."""
        return self._last_tick_s

    @property
    def is_due(self) -> bool:
        """True when a busy loop should show itself again."""
        return self._clock() - self._shown_at_s >= _BUSY_INTERVAL_S

    def moved(self) -> None:
        """A turn was made."""
        self._last_tick_s = self._clock()

    def _keep(self, view: View, at_s: float) -> None:
        self._view = view
        self._shown_at_s = at_s

    def _set_delivery_gauges(self, window: Window[Any, Any], sink: SinkState) -> None:
        metrics = self._delivery_metrics
        metrics.unacknowledged_events.set(window.unacknowledged)
        metrics.unacknowledged_age_seconds.set(window.oldest_age_s or 0.0)
        metrics.window_bytes.set(window.held_bytes)
        metrics.sink_up.set(sink.healthy)
