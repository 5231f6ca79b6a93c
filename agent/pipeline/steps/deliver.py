"""Hands batches to the sink, notes what it acknowledges, and opens it again when it ended."""

import logging
from functools import partial

from agent.pipeline.parts import Parts
from agent.segments.state import acknowledged
from sidecar.errors import SidecarError, SinkRestartError
from sidecar.logs import fields

logger = logging.getLogger(__name__)

_IDLE_POLL_S = 1.0
_FULL_POLL_S = 0.02
_FIRST_POLL_PAUSE_S = 0.002
_LONGEST_POLL_PAUSE_S = 0.1
_FIRST_RESTART_PAUSE_S = 1.0
_LONGEST_RESTART_PAUSE_S = 30.0


class DeliverStep:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._open_at_s = self._poll_at_s = parts.clock()
        self._restart_pause_s = _FIRST_RESTART_PAUSE_S
        self._poll_pause_s = _FIRST_POLL_PAUSE_S

    @property
    def due_in_s(self) -> float:
        """When the sink should be asked, or opened, though nothing else happens."""
        delivery = self._parts.delivery
        if not delivery.is_open:
            return min(_IDLE_POLL_S, self._open_at_s - self._parts.clock())
        return _IDLE_POLL_S if delivery.is_idle else self._poll_pause_s

    def turn(self) -> bool:
        """Sends one batch, and asks what is acknowledged. Raises what the sink raises."""
        parts, delivery = self._parts, self._parts.delivery
        if not delivery.is_open:
            return self._open()
        worked = delivery.send()
        if not delivery.is_idle or parts.clock() >= self._poll_at_s:
            self._poll_at_s = parts.clock() + _IDLE_POLL_S
            # With a full window only an acknowledgement brings anything on.
            is_stuck = not (worked or parts.has_room or parts.reading.is_busy)
            if delivery.poll(_FULL_POLL_S if is_stuck else 0.0):
                self._restart_pause_s = _FIRST_RESTART_PAUSE_S
                worked = True
        pause_s = min(_LONGEST_POLL_PAUSE_S, self._poll_pause_s * 2)
        self._poll_pause_s = _FIRST_POLL_PAUSE_S if worked else pause_s
        return worked

    def advance(self) -> bool:
        """Notes how far segments are acknowledged."""
        parts = self._parts
        moved = parts.delivery.progress()
        for progress in moved:
            parts.keeping.advance(progress.source, progress.position)
            parts.metrics.acknowledged(progress.source.id, progress.position)
            parts.segments = parts.segments.changed(
                progress.source, partial(acknowledged, position=progress.position)
            )
        return bool(moved)

    def set_refused_aside(self) -> bool:
        """Keeps events that the sink will never take elsewhere."""
        parts = self._parts
        if not parts.delivery.refused or not parts.can_record:
            return False
        for refused in tuple(parts.delivery.refused):
            if not parts.leaving.keep(refused):
                parts.record_later()
                return False
            parts.delivery.set_aside(refused)
        return True

    def end(self, error: SinkRestartError) -> None:
        """The sink lost something: it is closed, all that is not acknowledged is forgotten, and
        after a pause it is opened again."""
        logger.warning(
            "delivery starts again from the last acknowledged event",
            extra=fields(reason=str(error), pause_s=self._restart_pause_s),
        )
        self._parts.metrics.delivery.sink_restarts.inc()
        self.close(0.0)
        self.advance()
        self._parts.delivery.forget()
        self._open_at_s = self._parts.clock() + self._restart_pause_s
        self._restart_pause_s = min(_LONGEST_RESTART_PAUSE_S, self._restart_pause_s * 2)

    def close(self, deadline_s: float) -> None:
        """Closes the sink; an error is said only."""
        try:
            self._parts.delivery.close(deadline_s)
        except SidecarError as error:
            logger.warning("the sink did not close cleanly", extra=fields(reason=str(error)))

    def _open(self) -> bool:
        if self._parts.is_stopping or self._parts.clock() < self._open_at_s:
            return False
        self._parts.delivery.open()
        return True
