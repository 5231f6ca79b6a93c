"""The loop that joins everything: look, read, hold, deliver, acknowledge, save, let go.

One thread takes turns; a worker reads the next batch meanwhile. A turn does what can be done and
never waits, except for the sink's bounded sends, for acknowledgements when the window is full, and
the disk. Between turns without work the thread waits on one condition: a change in `cdc_raw`, a
read that is done, a request to stop, or the time at which something is due.
"""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from agent.metrics import AgentMetrics
from agent.pipeline.blocked_read import BlockedRead
from agent.pipeline.context import PipelineContext
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.pipeline.offset_committer import OffsetCommitter
from agent.pipeline.read_worker import ReadWorker
from agent.pipeline.reader import OpenReader, SchemaSource
from agent.pipeline.segment_disposer import SegmentDisposer
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.status_publisher import SegmentStatusPublisher
from agent.pipeline.steps.blocked import BlockedStep
from agent.pipeline.steps.deliver import DeliverStep
from agent.pipeline.steps.dispose import DisposeStep
from agent.pipeline.steps.read import ReadStep
from agent.pipeline.steps.requeue import RequeueStep
from agent.pipeline.steps.scan import ScanStep
from agent.pipeline.steps.snapshot import SnapshotStep
from agent.pipeline.view import View
from agent.quarantine import Quarantine
from agent.segments import SegmentOffsets, segments_from_offsets
from agent.snapshot.snapshot import Snapshot
from agent.transfer import Transfer
from commitlog import SchemaIds, Unregistered
from sidecar.delivery.delivery import Delivery
from sidecar.errors import RefusedError, SinkRestartError
from sidecar.offsets.flusher import OffsetStore
from sidecar.process.lifecycle import Stop
from sidecar.runtime.drain import drain, say_stopped
from sidecar.runtime.tune_gc import tune_gc
from sidecar.runtime.tune_gil import tune_gil
from sidecar.runtime.wakeup import Wakeup
from sidecar.schema_registry import Registrar
from sidecar.sinks.base import Sink


class Pipeline:
    """One node's segments on their way to one sink."""

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        open_reader: OpenReader,
        schema: SchemaSource,
        sink: Sink,
        store: OffsetStore,
        ledger: SegmentOffsets,
        transfer: Transfer,
        quarantine: Quarantine,
        metrics: AgentMetrics,
        snapshot: Snapshot | None = None,
        snapshot_store: OffsetStore | None = None,
        registrar: Registrar[Unregistered] | None = None,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ledger` is what `store` holds, and the progress of `snapshot` what `snapshot_store`
        does; `registrar` gets ids for schemas, where events are Avro; `executor` has one worker
        (its own thread without); `clock` gives seconds."""
        self._wakeup = Wakeup()
        self._executor = executor or ThreadPoolExecutor(1, "reader")
        self._publisher = SegmentStatusPublisher(settings, metrics, clock=clock)
        directory = settings.cdc_raw_directory
        self.context = context = PipelineContext(
            settings=settings,
            schema=schema,
            metrics=metrics,
            clock=clock,
            scanner=DirectoryScanner(
                directory,
                settings.poll_interval_ms / 1000,
                self._wakeup.ring,
                clock=clock,
                commit_log=settings.commit_log_directory,
            ),
            read_worker=ReadWorker(directory, open_reader, self._executor, self._wakeup.ring),
            blocked_read=BlockedRead(settings.hold_max_ms / 1000),
            delivery=Delivery(
                sink,
                settings.window_max_events,
                settings.window_max_bytes,
                metrics=metrics.delivery,
                clock=clock,
                transform=settings.transform,
                tracing=settings.tracing,
            ),
            offsets=OffsetCommitter(
                store,
                ledger,
                settings.offset_flush_interval_ms / 1000,
                metrics=metrics.delivery,
                clock=clock,
            ),
            disposer=SegmentDisposer(directory, transfer, quarantine, metrics),
            registrar=registrar or Registrar(SchemaIds(), {}),
            segments=segments_from_offsets(ledger),
            snapshot=snapshot,
        )
        self._requeue = RequeueStep(context)
        self._look = ScanStep(context)
        self._hold = BlockedStep(context)
        self._read = ReadStep(context, self._hold)
        self._deliver = DeliverStep(context)
        self._leave = DisposeStep(context)
        self._copy = SnapshotStep(context, snapshot_store or store)
        self._show()

    @property
    def view(self) -> View:
        """The last state that was shown. Any thread may ask."""
        return self._publisher.view

    @property
    def last_tick_s(self) -> float:
        """When the last turn was made, by the clock. Any thread may ask."""
        return self._publisher.last_tick_s

    def wake(self) -> None:
        """Something changed that a turn should see, such as the schema. Any thread may call it."""
        self._wakeup.ring()

    def run(self, stop: Stop) -> None:
        """Takes turns until `stop` is requested, then drains within its deadline.

        Raises what the sink raises when it cannot go on, and what ended the schema. Progress is
        saved in every case.
        """
        try:
            with tune_gc(), tune_gil():
                while not stop.requested:
                    if not self.tick():
                        self._wakeup.wait(self._pause_s(), stop.fileno())
                self._drain(stop)
        finally:
            self._close(stop.remaining_s if stop.requested else 0.0)

    def tick(self) -> bool:
        """Does what can be done now; True when there was something. Raises what ended the schema:
        with a kept one it would go on until a table is new, and end then."""
        context = self.context
        if (fatal := context.schema.fatal or context.registrar.fatal) is not None:
            raise fatal
        worked = False
        try:
            worked |= self._requeue.tick()
            worked |= self._look.tick()
            worked |= self._read.take()
            worked |= self._hold.tick()
            worked |= self._read.start()
            worked |= self._copy.tick()
            worked |= self._deliver.tick()
        except SinkRestartError as error:
            self._start_again(error)
            worked = True
        except RefusedError as error:
            if not context.settings.waits_when_refused:
                raise
            self._start_again(error)
            worked = True
        worked |= self._deliver.advance()
        worked |= self._deliver.set_refused_aside()
        context.offsets.save()
        self._copy.save()
        worked |= self._leave.tick()
        self._publisher.moved()
        if self._publisher.is_due or not (worked or context.read_worker.is_busy):
            self._show()
        return worked

    def _start_again(self, error: SinkRestartError | RefusedError) -> None:
        """Everything from the watermark on is read and sent again."""
        context = self.context
        self._deliver.end(error)
        self._read.abandon()
        self._copy.start_again()
        context.blocked_read.end()
        context.segments = segments_from_offsets(context.offsets.ledger)
        context.scanner.want()

    def _drain(self, stop: Stop) -> None:
        self.context.is_stopping = True
        drain(
            self.context.delivery,
            stop,
            self._wakeup,
            tick=self._last_tick,
            due_in_s=lambda: self._deliver.due_in_s,
        )

    def _last_tick(self) -> bool:
        """A turn in which nothing is read."""
        worked = self._deliver.tick()
        worked |= self._deliver.advance()
        worked |= self._deliver.set_refused_aside()
        self.context.offsets.save()
        self._copy.save()
        self._publisher.moved()
        self._show()
        return worked

    def _close(self, deadline_s: float) -> None:
        context = self.context
        try:
            self._deliver.close(deadline_s)
            self._deliver.advance()
            context.offsets.save_last()
            self._copy.save_last()
            self._leave.tick()
        finally:
            self._show()
            context.scanner.close()
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._wakeup.close()
        say_stopped(context.delivery)

    def _pause_s(self) -> float:
        """How long there is nothing to do."""
        context, now_s = self.context, self.context.clock()
        due = [context.scanner.due_in_s, self._deliver.due_in_s]
        if (look_s := self._look.due_in_s) is not None:
            due.append(look_s)
        if (save_s := context.offsets.due_in_s) is not None:
            due.append(save_s)
        if (save_s := self._copy.save_in_s) is not None:
            due.append(save_s)
        if (hold_s := context.blocked_read.due_in_s(now_s)) is not None:
            due.append(hold_s)
        if self._read.is_waiting or context.delivery.refused:
            due.append(context.record_at_s - now_s)
        return max(0.0, min(due))

    def _show(self) -> None:
        context = self.context
        self._publisher.show(
            context.segments,
            context.scanner,
            context.blocked_read,
            context.delivery,
            context.offsets,
            context.disposer,
            copy_save_trouble=self._copy.trouble,
            is_stopping=context.is_stopping,
        )
