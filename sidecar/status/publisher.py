"""Publishes the view of an agent for other threads, and sets the gauges from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from sidecar.delivery.delivery import Delivery
from sidecar.metrics import DeliveryMetrics
from sidecar.sinks.base import SinkState


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """Delivery from the window to the sink at one moment."""

    sink: SinkState
    unacknowledged_events: int = 0
    unacknowledged_age_s: float = 0.0
    """How long the oldest unacknowledged event has been in the window."""
    window_bytes: int = 0
    window_limit_events: int = 0
    window_limit_bytes: int = 0


class StatusView(Protocol):
    @property
    def delivery(self) -> DeliveryView: ...
    @property
    def is_stopping(self) -> bool: ...
    @property
    def lag_s(self) -> float: ...
    @property
    def save_error(self) -> str:
        """Why the latest save of the progress failed; empty if it succeeded."""

    @property
    def record_error(self) -> str:
        """Why the quarantine cannot store dead letters; empty while it can."""


ViewOf = TypeVar("ViewOf", bound=StatusView)


class StatusPublisher(Generic[ViewOf]):
    """Holds the latest view, which is replaced as a whole, so that reading needs no lock."""

    def __init__(self, metrics: DeliveryMetrics, set_gauges: Callable[[ViewOf], None]) -> None:
        """`set_gauges` sets the agent's own gauges."""
        self._metrics = metrics
        self._set_gauges = set_gauges
        self._view: ViewOf | None = None

    @property
    def view(self) -> ViewOf:
        """The latest view. Thread-safe."""
        if self._view is None:
            raise RuntimeError("no view was published yet")
        return self._view

    def publish(self, view: ViewOf) -> None:
        self._view = view
        delivery, metrics = view.delivery, self._metrics
        metrics.unacknowledged_events.set(delivery.unacknowledged_events)
        metrics.unacknowledged_age_seconds.set(delivery.unacknowledged_age_s)
        metrics.window_bytes.set(delivery.window_bytes)
        metrics.window_limit_events.set(delivery.window_limit_events)
        metrics.window_limit_bytes.set(delivery.window_limit_bytes)
        metrics.sink_up.set(delivery.sink.healthy)
        self._set_gauges(view)


def delivery_view(delivery: Delivery[Any, Any]) -> DeliveryView:
    """Build the current view of a delivery. Call it on the delivery's thread."""
    window = delivery.window
    return DeliveryView(
        sink=delivery.sink_state,
        unacknowledged_events=window.unacknowledged,
        unacknowledged_age_s=window.oldest_age_s or 0.0,
        window_bytes=window.buffered_bytes,
        window_limit_events=window.max_events,
        window_limit_bytes=window.max_bytes,
    )
