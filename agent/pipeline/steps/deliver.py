"""Hands batches to the sink, and notes what it acknowledges."""

from functools import partial

from agent.pipeline.parts import Parts
from agent.segments.state import acknowledged
from agent.snapshot.snapshot import CopySource
from sidecar.errors import RefusedError, SinkRestartError
from sidecar.pipeline.sink_turns import SinkTurns


class DeliverStep:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sink = SinkTurns(parts.delivery, metrics=parts.metrics.delivery, clock=parts.clock)

    @property
    def due_in_s(self) -> float:
        """When the sink should be asked, or opened, though nothing else happens."""
        return self._sink.due_in_s

    def turn(self) -> bool:
        """Sends one batch, and asks what is acknowledged. Raises what the sink raises."""
        parts = self._parts
        return self._sink.turn(
            may_read=parts.has_room or parts.reading.is_busy, may_open=not parts.is_stopping
        )

    def advance(self) -> bool:
        """Notes how far segments and copies are acknowledged."""
        parts = self._parts
        moved = parts.delivery.progress()
        for progress in moved:
            source, position = progress.source, progress.position
            if isinstance(source, CopySource):
                if parts.snapshot is not None:
                    parts.snapshot.acknowledge(source, position)
                continue
            segment = parts.segments.get(source)
            if segment is not None and not segment.is_reported:
                # The position of a lost segment is forgotten when the loss is on record.
                parts.keeping.advance(source, position)
            parts.metrics.acknowledged(source.id, position)
            parts.segments = parts.segments.changed(
                source, partial(acknowledged, position=position)
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

    def end(self, error: SinkRestartError | RefusedError) -> None:
        """The sink lost something: all that is not acknowledged is forgotten, and after a pause it
        is opened again."""
        self._sink.end(error)
        self.advance()
        self._parts.delivery.forget()
        self._parts.leaving.nothing_to_keep()

    def close(self, deadline_s: float) -> None:
        """Closes the sink; an error is said only."""
        self._sink.close(deadline_s)
