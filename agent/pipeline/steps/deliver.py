"""Hands batches to the sink, and notes what it acknowledges."""

from functools import partial

from agent.pipeline.context import PipelineContext
from agent.segments.state import after_acknowledgement
from agent.snapshot.partition import SnapshotPartition
from sidecar.delivery.sink_driver import SinkDriver
from sidecar.errors import RefusedError, SinkRestartError


class DeliverStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._sink = SinkDriver(
            context.delivery, metrics=context.metrics.delivery, clock=context.clock
        )

    @property
    def due_in_s(self) -> float:
        """When the sink should be asked, or opened, though nothing else happens."""
        return self._sink.due_in_s

    def tick(self) -> bool:
        """Sends one batch, and asks what is acknowledged. Raises what the sink raises."""
        context = self._context
        return self._sink.tick(
            may_read=context.has_room or context.read_worker.is_busy,
            may_open=not context.is_stopping,
        )

    def advance(self) -> bool:
        """Notes how far segments and copies are acknowledged."""
        context = self._context
        moved = context.delivery.progress()
        for progress in moved:
            source, position = progress.source, progress.position
            if isinstance(source, SnapshotPartition):
                if context.snapshot is not None:
                    context.snapshot.acknowledge(source, position)
                continue
            segment = context.segments.get(source)
            if segment is not None and not segment.is_reported:
                # The position of a lost segment is forgotten when the loss is on record.
                context.offsets.advance(source, position)
            context.metrics.acknowledged(source.id, position)
            context.segments = context.segments.changed(
                source, partial(after_acknowledgement, position=position)
            )
        return bool(moved)

    def set_refused_aside(self) -> bool:
        """Keeps events that the sink will never take elsewhere."""
        context = self._context
        if not context.delivery.refused or not context.can_record:
            return False
        for refused in tuple(context.delivery.refused):
            if not context.disposer.keep(refused):
                context.record_later()
                return False
            context.delivery.set_aside(refused)
        return True

    def end(self, error: SinkRestartError | RefusedError) -> None:
        """The sink lost something: all that is not acknowledged is forgotten, and after a pause it
        is opened again."""
        self._sink.end(error)
        self.advance()
        self._context.delivery.forget()
        self._context.disposer.nothing_to_keep()

    def close(self, deadline_s: float) -> None:
        """Closes the sink; an error is said only."""
        self._sink.close(deadline_s)
