"""One node's pipeline: runs the steps of a tick, in order, for its segments and snapshot."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from agent.metrics import VANISHED
from agent.pipeline.context import PipelineContext, PipelineParts, PipelineSettings
from agent.pipeline.steps.blocked import BlockedStep
from agent.pipeline.steps.finish import AcknowledgeStep, DisposeStep
from agent.pipeline.steps.intake import RequeueStep, ScanStep
from agent.pipeline.steps.read import ReadStep
from agent.pipeline.steps.snapshot import SnapshotStep
from agent.pipeline.steps.watermark import WatermarkStep
from agent.pipeline.view import View, ViewBuilder, set_gauges
from agent.segments.plan import segments_from_offsets
from sidecar.runtime.loop import Loop, LoopPipeline, Wakeup
from sidecar.status.publisher import StatusPublisher


class Pipeline(LoopPipeline[View]):
    """Delivers one node's segments to one sink. Its loop calls it as its
    `sidecar.runtime.loop.ChangeSource`."""

    is_finished = False

    def __init__(
        self,
        settings: PipelineSettings,
        parts: PipelineParts,
        *,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`executor` has one worker, and defaults to a new thread; `close` shuts it down. `clock`
        returns seconds."""
        wakeup, metrics = Wakeup(), parts.metrics
        self.wake = wakeup.ring
        """Requests a tick after a change, such as a new schema. Any thread may call it."""
        self._executor = executor or ThreadPoolExecutor(1, "reader")
        context = PipelineContext(settings, parts, self._executor, wakeup.ring, clock)
        self.context = context
        self._views = ViewBuilder(context)

        self._journal = parts.journal
        if self._journal is not None:
            self._journal.record = lambda name, lost: context.disposer.record(
                name, (lost,), VANISHED
            )
        self._requeue = RequeueStep(context)
        self._scan = ScanStep(context, self._requeue)
        self._blocked = BlockedStep(context)
        self._read = ReadStep(context, self._blocked)
        acknowledge, self._dispose = AcknowledgeStep(context), DisposeStep(context)
        self.note_progress = acknowledge.advance
        self.keep_dead_letter = acknowledge.keep_dead_letter
        self.dispose = self._dispose.tick
        self._snapshot = SnapshotStep(context, parts.snapshot_store or parts.store)
        self._watermark = (
            None
            if parts.watermark is None
            else WatermarkStep(context, parts.watermark, self._requeue)
        )
        publisher = StatusPublisher[View](metrics.delivery, lambda view: set_gauges(view, metrics))
        # The loop publishes when it is created.
        self._publisher = publisher
        loop = Loop(
            self,
            context.delivery,
            wakeup,
            metrics=metrics.delivery,
            waits_when_denied=settings.properties.waits_when_denied,
            clock=clock,
        )
        super().__init__(loop, publisher)

    @property
    def last_tick_s(self) -> float:
        """When the latest tick ended, or when the current read began if that is earlier: a hanging
        read is a stall too. Any thread may call it."""
        reading_since_s = self.context.read_worker.reading_since_s
        last_tick_s = super().last_tick_s
        return last_tick_s if reading_since_s is None else min(last_tick_s, reading_since_s)

    @property
    def is_reading(self) -> bool:
        return self.context.read_worker.is_busy

    @property
    def may_read(self) -> bool:
        return self.context.delivery.has_room or self.is_reading

    def begin(self) -> None:
        """Does nothing, because the first scan determines the first position."""

    def prepare(self) -> bool:
        """Raises fatal errors of the schema or registry; otherwise reading would continue with the
        known schema, and fail only at a new table."""
        if (fatal := self.context.schema.fatal or self.context.registrar.fatal) is not None:
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
        # Before it reads the quarantine, the agent does not know which segments are requeued.
        if self._journal is None or self._requeue.names is None or not self._journal.tick():
            return False
        self.context.scanner.request()
        return True

    def save(self) -> None:
        self.context.offsets.save()
        self._snapshot.save()

    def save_last(self) -> None:
        self.context.offsets.save_last()
        self._snapshot.save_last()

    def rewind(self) -> None:
        context = self.context
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
        context, now_s = self.context, self.context.clock()
        due = [context.scanner.due_in_s]
        others = (
            self._scan.due_in_s,
            None if self._journal is None else self._journal.due_in_s,
            self._dispose.due_in_s,
            context.offsets.due_in_s,
            self._snapshot.flusher.due_in_s,
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
            snapshot_save_error=self._snapshot.flusher.error,
            watermark_error="" if self._watermark is None else self._watermark.error,
            accord=None if self._journal is None else self._journal.view,
        )
        self._publisher.publish(view)

    def close(self) -> None:
        self.context.scanner.close()
        if self._journal is not None:
            self._journal.close()
        # Otherwise the process would wait for a running read.
        self._read.abandon()
        self._executor.shutdown(wait=False, cancel_futures=True)
