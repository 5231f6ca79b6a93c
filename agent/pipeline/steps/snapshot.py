"""Adds pages of the snapshot to the window and saves its progress."""

from agent.pipeline.context import PipelineContext
from agent.snapshot.offsets import SnapshotOffsets
from commitlog import EventBatch
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore


class SnapshotStep:
    def __init__(self, context: PipelineContext, store: OffsetStore) -> None:
        """`store` receives the progress of the snapshot in `context`."""
        self._context = context
        # Without a snapshot, there is never anything to save.
        self.flusher = OffsetFlusher(
            store,
            SnapshotOffsets("") if context.snapshot is None else context.snapshot.offsets,
            SnapshotOffsets.to_entries,
            context.settings.properties.offset_flush_interval_ms / 1000,
            metrics=context.metrics.delivery,
            clock=context.clock,
        )

    def tick(self) -> bool:
        """Adds a page if the window can hold it together with the next read of the log, so that the
        snapshot never delays the log."""
        context, snapshot = self._context, self._context.snapshot
        if snapshot is None or not (context.delivery.is_open and context.may_publish):
            return False
        ready = snapshot.peek()
        if ready is None or not context.delivery.wants_more or not self._has_room(ready.batch):
            return False
        snapshot.take()
        batch = ready.batch
        context.delivery.add(ready.source, batch, ready.start)
        snapshot.add_rows(ready.source, batch.mutations)
        context.metrics.snapshot_rows.labels(ready.source.table).inc(batch.mutations)
        return True

    def save(self) -> None:
        """Saves progress if a save is due; immediately if the state of a table changed."""
        flusher, snapshot = self.flusher, self._context.snapshot
        if snapshot is not None:
            flusher.reached = snapshot.offsets
            flusher.save(at_once=flusher.reached.states != flusher.stored.states)

    def save_last(self) -> None:
        if (snapshot := self._context.snapshot) is not None:
            self.flusher.reached = snapshot.offsets
            self.flusher.save_last()

    def rollback(self) -> None:
        if self._context.snapshot is not None:
            self._context.snapshot.rollback()

    def _has_room(self, batch: EventBatch) -> bool:
        settings, delivery = self._context.settings, self._context.delivery
        properties = settings.properties
        events, size_bytes = len(batch), batch.size_bytes
        return delivery.is_idle or delivery.fits(
            min(properties.inflight_max_events, events + settings.read_max_events),
            min(properties.inflight_max_bytes, size_bytes + settings.read_max_bytes),
        )
