"""A node's segments and its snapshot as the source of a loop: the steps of a tick, in order."""

from collections.abc import Callable
from concurrent.futures import Executor

from agent.pipeline.context import PipelineContext
from agent.pipeline.segment_disposer import EventSource
from agent.pipeline.steps.blocked import BlockedStep
from agent.pipeline.steps.finish import AcknowledgeStep, DisposeStep
from agent.pipeline.steps.intake import AccordStep, RequeueStep, ScanStep
from agent.pipeline.steps.read import AnnounceStep, ReadStep
from agent.pipeline.steps.snapshot import SnapshotStep
from agent.pipeline.steps.watermark import WatermarkParts, WatermarkStep
from agent.segments.plan import segments_from_offsets
from sidecar.delivery.delivery import RejectedEvent
from sidecar.offsets.flusher import OffsetStore


class SegmentSource:
    """Implements `sidecar.runtime.loop.ChangeSource`."""

    is_finished = False

    def __init__(
        self,
        context: PipelineContext,
        snapshot_store: OffsetStore,
        executor: Executor,
        publish: Callable[[str, bool], None],
        watermark: WatermarkParts | None = None,
    ) -> None:
        """`executor` ends with this; `publish` gets the error of saving the snapshot's progress,
        and whether the loop is stopping; without `watermark` none is sent."""
        self._context = context
        self._executor = executor
        self._publish = publish
        self._requeue = RequeueStep(context)
        self._accord = AccordStep(context)
        self._scan = ScanStep(context)
        self._announce = AnnounceStep(context)
        self._blocked = BlockedStep(context)
        self._read = ReadStep(context, self._blocked)
        self._acknowledge = AcknowledgeStep(context)
        self._dispose = DisposeStep(context)
        self._snapshot = SnapshotStep(context, snapshot_store)
        self._watermark = None if watermark is None else WatermarkStep(context, watermark)

    @property
    def is_reading(self) -> bool:
        return self._context.read_worker.is_busy

    @property
    def may_read(self) -> bool:
        return self._context.has_room or self._context.read_worker.is_busy

    def begin(self) -> None:
        """The first position follows from the first scan."""

    def prepare(self) -> bool:
        """Raises what ended the schema: with a kept one reading would continue until a table is
        new, and end then."""
        context = self._context
        if (fatal := context.schema.fatal or context.registrar.fatal) is not None:
            raise fatal
        return False

    def read(self) -> bool:
        worked = self._announce.tick()
        worked |= self._requeue.tick()
        worked |= self._accord.tick()
        worked |= self._scan.tick()
        worked |= self._read.take()
        worked |= self._blocked.tick()
        worked |= self._read.start()
        worked |= self._snapshot.tick()
        if self._watermark is not None:
            worked |= self._watermark.tick()
        return worked

    def note_progress(self) -> bool:
        return self._acknowledge.advance()

    def keep_dead_letter(self, rejected: RejectedEvent[EventSource, int]) -> bool:
        return self._acknowledge.keep_dead_letter(rejected)

    def save(self) -> None:
        self._context.save_offsets()
        self._snapshot.save()

    def save_last(self) -> None:
        announcer = self._context.announcer
        if announcer is None or announcer.save():
            self._context.offsets.save_last()
        self._snapshot.save_last()

    def dispose(self) -> bool:
        return self._dispose.tick()

    def rewind(self) -> None:
        context = self._context
        context.disposer.dead_letters_resolved()
        self._read.abandon()
        self._snapshot.rollback()
        if context.announcer is not None:
            context.announcer.rewind()
        if self._watermark is not None:
            self._watermark.rewind()
        context.blocked_read.end()
        context.segments = segments_from_offsets(context.offsets.ledger)
        context.scanner.request()

    def due_in_s(self) -> float:
        context, now_s = self._context, self._context.clock()
        due = [context.scanner.due_in_s]
        others = (
            self._scan.due_in_s,
            self._accord.due_in_s,
            self._dispose.due_in_s,
            context.offsets.due_in_s,
            self._snapshot.save_in_s,
            context.blocked_read.due_in_s(now_s),
            None if self._watermark is None else self._watermark.due_in_s,
        )
        due += (each for each in others if each is not None)
        if self._read.is_waiting or context.delivery.rejected:
            due.append(context.record_at_s - now_s)
        return min(due)

    def publish(self, *, is_stopping: bool) -> None:
        self._publish(self._snapshot.error, is_stopping)

    def close(self) -> None:
        self._context.scanner.close()
        self._accord.close()
        # The process would wait for the end of a running read.
        self._read.abandon()
        self._executor.shutdown(wait=False, cancel_futures=True)
