"""The loop's source: runs the steps of a tick, in order, for a node's segments and snapshot."""

from concurrent.futures import Executor

from agent.accord.journal import AccordJournal
from agent.pipeline.context import PipelineContext
from agent.pipeline.steps.blocked import BlockedStep
from agent.pipeline.steps.finish import AcknowledgeStep, DisposeStep
from agent.pipeline.steps.intake import RequeueStep, ScanStep
from agent.pipeline.steps.read import ReadStep
from agent.pipeline.steps.snapshot import SnapshotStep
from agent.pipeline.steps.watermark import WatermarkParts, WatermarkStep
from agent.pipeline.view import View, ViewBuilder
from agent.segments.plan import segments_from_offsets
from sidecar.offsets.flusher import OffsetStore
from sidecar.status.publisher import StatusPublisher


class SegmentSource:
    """Implements `sidecar.runtime.loop.ChangeSource`."""

    is_finished = False

    def __init__(
        self,
        context: PipelineContext,
        executor: Executor,
        publisher: StatusPublisher[View],
        *,
        snapshot_store: OffsetStore,
        journal: AccordJournal | None,
        watermark: WatermarkParts | None,
    ) -> None:
        """`close` shuts down `executor`. Without `journal`, the agent captures no transactions;
        without `watermark`, it sends no watermarks."""
        self._context = context
        self._executor = executor
        self._publisher = publisher
        self._views = ViewBuilder(context)
        self._journal = journal
        self._requeue = RequeueStep(context)
        self._scan = ScanStep(context, self._requeue)
        self._blocked = BlockedStep(context)
        self._read = ReadStep(context, self._blocked)
        acknowledge, self._dispose = AcknowledgeStep(context), DisposeStep(context)
        self.note_progress = acknowledge.advance
        self.keep_dead_letter = acknowledge.keep_dead_letter
        self.dispose = self._dispose.tick
        self._snapshot = SnapshotStep(context, snapshot_store)
        self._watermark = (
            None if watermark is None else WatermarkStep(context, watermark, self._requeue)
        )

    @property
    def is_reading(self) -> bool:
        return self._context.read_worker.is_busy

    @property
    def may_read(self) -> bool:
        return self._context.delivery.has_room or self._context.read_worker.is_busy

    def begin(self) -> None:
        """Does nothing, because the first scan determines the first position."""

    def prepare(self) -> bool:
        """Raises fatal errors of the schema or registry; otherwise reading would continue with the
        known schema, and fail only at a new table."""
        context = self._context
        if (fatal := context.schema.fatal or context.registrar.fatal) is not None:
            raise fatal
        return False

    def read(self) -> bool:
        worked = self._read.announce()
        worked |= self._requeue.tick()
        worked |= self._read_journal()
        worked |= self._scan.tick()
        worked |= self._read.take()
        worked |= self._blocked.tick()
        worked |= self._read.start()
        worked |= self._snapshot.tick()
        if self._watermark is not None:
            worked |= self._watermark.tick()
        return worked

    def _read_journal(self) -> bool:
        """Reads the Accord journal if a read is due."""
        # Before it reads the quarantine, the agent does not know which segments are requeued.
        if self._journal is None or self._requeue.names is None or not self._journal.tick():
            return False
        self._context.scanner.request()
        return True

    def save(self) -> None:
        self._context.offsets.save()
        self._snapshot.save()

    def save_last(self) -> None:
        self._context.offsets.save_last()
        self._snapshot.save_last()

    def rewind(self) -> None:
        context = self._context
        context.disposer.resolve_dead_letters()
        self._read.abandon()
        self._snapshot.rollback()
        if context.announcer is not None:
            context.announcer.rewind()
        if self._watermark is not None:
            self._watermark.rewind()
        context.blocked_read.end()
        context.segments.reset(segments_from_offsets(context.offsets.reached))
        context.scanner.request()

    def due_in_s(self) -> float:
        context, now_s = self._context, self._context.clock()
        due = [context.scanner.due_in_s]
        others = (
            self._scan.due_in_s,
            None if self._journal is None else self._journal.due_in_s,
            self._dispose.due_in_s,
            context.offsets.due_in_s,
            self._snapshot.save_in_s,
            context.blocked_read.due_in_s(now_s),
            None if self._watermark is None else self._watermark.due_in_s,
        )
        due += (each for each in others if each is not None)
        if self._read.is_waiting or context.delivery.rejected:
            due.append(context.disposer.record_in_s)
        return min(due)

    def publish(self, *, is_stopping: bool) -> None:
        view = self._views.build(
            is_stopping=is_stopping,
            snapshot_save_error=self._snapshot.error,
            watermark_error="" if self._watermark is None else self._watermark.error,
            accord=None if self._journal is None else self._journal.view,
        )
        self._publisher.publish(view)

    def close(self) -> None:
        self._context.scanner.close()
        if self._journal is not None:
            self._journal.close()
        # Otherwise the process would wait for a running read.
        self._read.abandon()
        self._executor.shutdown(wait=False, cancel_futures=True)
