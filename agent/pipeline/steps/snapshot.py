"""Takes pages of the snapshot into the window, and keeps its progress."""

from agent.pipeline.context import PipelineContext
from commitlog import EventBatch
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore


class SnapshotStep:
    def __init__(self, context: PipelineContext, store: OffsetStore) -> None:
        """`store` holds the progress of the snapshot that `parts` has."""
        self._context = context
        snapshot = context.snapshot
        self._saving = (
            None
            if snapshot is None
            else OffsetFlusher(
                store,
                snapshot.progress,
                type(snapshot.progress).to_entries,
                context.settings.offset_flush_interval_ms / 1000,
                metrics=context.metrics.delivery,
                clock=context.clock,
            )
        )

    @property
    def save_in_s(self) -> float | None:
        """When a save is due; None when there is nothing to save."""
        return None if self._saving is None else self._saving.due_in_s

    @property
    def trouble(self) -> str:
        """Why the last save failed; empty when it did not."""
        return "" if self._saving is None else self._saving.trouble

    def tick(self) -> bool:
        """Takes a page when there is room for it beside the next read of the log, so that the
        log is never kept back by rows that were there before."""
        context, snapshot = self._context, self._context.snapshot
        if snapshot is None or context.is_stopping or not context.delivery.is_open:
            return False
        ready = snapshot.peek()
        if ready is None or not context.delivery.wants_more or not self._has_room(ready.batch):
            return False
        snapshot.take()
        batch = ready.batch
        context.delivery.add(ready.source, batch, ready.start)
        snapshot.delivered(ready.source, batch.mutations)
        context.metrics.snapshot_rows.labels(ready.source.table).inc(batch.mutations)
        return True

    def save(self) -> None:
        """Stores progress when that is due; at once what somebody asked for, or is done."""
        saving, snapshot = self._saving, self._context.snapshot
        if saving is not None and snapshot is not None:
            saving.reached = snapshot.progress
            saving.save(at_once=saving.reached.states != saving.stored.states)

    def save_last(self) -> None:
        """Stores progress at the end."""
        saving, snapshot = self._saving, self._context.snapshot
        if saving is not None and snapshot is not None:
            saving.reached = snapshot.progress
            saving.save_last()

    def start_again(self) -> None:
        """Everything that is not acknowledged is read again."""
        if self._context.snapshot is not None:
            self._context.snapshot.start_again()

    def _has_room(self, batch: EventBatch) -> bool:
        settings, delivery = self._context.settings, self._context.delivery
        events, size_bytes = len(batch), batch.size_bytes
        return delivery.is_idle or delivery.has_room(
            min(settings.window_max_events, events + settings.read_max_events),
            min(settings.window_max_bytes, size_bytes + settings.read_max_bytes),
        )
