"""Operates the sink in each tick of the loop: open, send, poll, restart."""

import logging
from collections.abc import Callable
from typing import Generic

from sidecar.delivery.delivery import Delivery
from sidecar.errors import AccessDeniedError, SidecarError, SinkRestartError
from sidecar.events import Position, Source
from sidecar.logs import RateLimitedLog, fields
from sidecar.metrics import DeliveryMetrics
from sidecar.process.wait_policy import RetryPause
from sidecar.sinks.base import SinkState

logger = logging.getLogger(__name__)

_IDLE_POLL_S = 1.0
_FULL_POLL_S = 0.02
_FIRST_POLL_PAUSE_S = 0.002
_LONGEST_POLL_PAUSE_S = 0.1
_FIRST_RESTART_PAUSE_S = 1.0
_LONGEST_RESTART_PAUSE_S = 30.0
_ACCESS_DENIED_REMEDY = (
    "Grant the rights or correct the credentials at the broker; the agent then resumes by itself. "
    "Restart the agent if you change its own configuration."
)


class SinkDriver(Generic[Source, Position]):
    """Opens, polls and restarts the sink on the loop's thread."""

    def __init__(
        self,
        delivery: Delivery[Source, Position],
        *,
        metrics: DeliveryMetrics,
        clock: Callable[[], float],
    ) -> None:
        """`clock` returns seconds."""
        self._delivery = delivery
        self._metrics = metrics
        self._clock = clock
        self._open_at_s = self._poll_at_s = clock()
        self._restart_pause = RetryPause(_FIRST_RESTART_PAUSE_S, _LONGEST_RESTART_PAUSE_S)
        self._poll_pause = RetryPause(_FIRST_POLL_PAUSE_S, _LONGEST_POLL_PAUSE_S)
        self._access_denied = RateLimitedLog(logger, clock=clock)

    @property
    def due_in_s(self) -> float:
        """Seconds until the sink must be polled or opened, even if nothing else happens."""
        if not self._delivery.is_open:
            return min(_IDLE_POLL_S, self._open_at_s - self._clock())
        return _IDLE_POLL_S if self._delivery.is_idle else self._poll_pause.present_s

    def tick(self, *, may_read: bool, may_open: bool) -> bool:
        """Sends one batch and polls for acknowledgements. Propagates the sink's errors.

        Without `may_read`, it waits briefly for an acknowledgement, because only that lets reading
        continue. Without `may_open`, a closed sink stays closed.
        """
        delivery = self._delivery
        if not delivery.is_open:
            if not may_open or self._clock() < self._open_at_s:
                return False
            delivery.open()
            return True
        worked = delivery.send()
        if not delivery.is_idle or self._clock() >= self._poll_at_s:
            self._poll_at_s = self._clock() + _IDLE_POLL_S
            is_stuck = not (worked or may_read)
            if delivery.poll(_FULL_POLL_S if is_stuck else 0.0):
                self._restart_pause.succeeded()
                self._access_denied.resolved("access denied", "the sink accepts the agent again")
                worked = True
        if worked:
            self._poll_pause.succeeded()
        else:
            self._poll_pause.failed()
        return worked

    def end(self, error: SinkRestartError | AccessDeniedError) -> None:
        """Closes a sink that lost events or was denied access, and reopens it after a pause.
        The caller must record the final progress and call `Delivery.forget`."""
        is_denied = isinstance(error, AccessDeniedError)
        pause_s = self._restart_pause.failed(is_jittered=is_denied)
        if is_denied:
            self._access_denied.log("access denied", str(error), pause_s=round(pause_s, 1))
            state = SinkState(
                False, str(error), code="sink_access_denied", remedy=_ACCESS_DENIED_REMEDY
            )
        else:
            logger.warning(
                "delivery restarts from the last acknowledged event",
                extra=fields(reason=str(error), pause_s=round(pause_s, 1)),
            )
            state = SinkState(False, f"delivery restarts after a pause: {error}")
        self._metrics.sink_restarts.inc()
        self.close(0.0)
        self._delivery.closed_state = state
        self._open_at_s = self._clock() + pause_s

    def close(self, deadline_s: float) -> None:
        """Closes the sink, and only logs errors."""
        try:
            self._delivery.close(deadline_s)
        except SidecarError as error:
            logger.warning("the sink did not close cleanly", extra=fields(reason=str(error)))
