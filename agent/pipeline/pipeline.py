"""The parts of one node's pipeline, put together around the loop."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from agent.accord.capture import Record
from agent.accord.journal import AccordJournal
from agent.cdc_raw.names import SegmentName
from agent.metrics import VANISHED, AgentMetrics
from agent.pipeline.blocked_read import BlockedRead
from agent.pipeline.context import PipelineContext
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.pipeline.offset_committer import OffsetCommitter
from agent.pipeline.read_attempts import ReadAttempts
from agent.pipeline.read_worker import ReadWorker
from agent.pipeline.reader import OpenReader
from agent.pipeline.schema_changes import SchemaAnnouncer
from agent.pipeline.segment_disposer import SegmentDisposer
from agent.pipeline.segment_source import SegmentSource
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.steps.watermark import WatermarkParts
from agent.pipeline.view import View
from agent.pipeline.view_builder import ViewBuilder, set_gauges
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from agent.schema import SchemaHolder
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import segments_from_offsets
from agent.snapshot.snapshot import Snapshot
from agent.transfer.transfer import Transfer
from commitlog import SchemaIds, Unregistered
from sidecar.delivery.delivery import Delivery
from sidecar.offsets.flusher import OffsetStore
from sidecar.runtime.loop import Loop
from sidecar.runtime.pipeline import LoopPipeline
from sidecar.runtime.wakeup import Wakeup
from sidecar.schema_registry.registrar import Registrar
from sidecar.sinks.base import Sink
from sidecar.status.publisher import StatusPublisher


class Pipeline(LoopPipeline[View]):
    """One node's segments on their way to one sink."""

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        open_reader: OpenReader,
        attempts: ReadAttempts | None = None,
        schema: SchemaHolder,
        sink: Sink,
        store: OffsetStore,
        ledger: SegmentOffsets,
        transfer: Transfer,
        quarantine: Quarantine,
        metrics: AgentMetrics,
        snapshot: Snapshot | None = None,
        accord: Callable[[Record], AccordJournal] | None = None,
        snapshot_store: OffsetStore | None = None,
        registrar: Registrar[Unregistered] | None = None,
        announcer: SchemaAnnouncer | None = None,
        watermark: WatermarkParts | None = None,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`attempts` counts reads that end the process; `accord` makes the reader of
        transactions, which records lost changes by its argument. `ledger` is what `store` holds,
        and the progress of `snapshot` what `snapshot_store` does; `registrar` gets ids for
        schemas, where events are Avro; `announcer` makes messages of schema changes, `watermark`
        those of watermarks; `executor` has one worker (its own thread without); `clock` gives
        seconds."""
        wakeup = Wakeup()
        worker = executor or ThreadPoolExecutor(1, "reader")
        directory = settings.cdc_raw_directory
        disposer = SegmentDisposer(directory, transfer, quarantine, metrics)

        def record(name: SegmentName, lost: LostRange) -> bool:
            return disposer.record(name, (lost,), VANISHED)

        context = PipelineContext(
            settings=settings,
            schema=schema,
            metrics=metrics,
            clock=clock,
            scanner=DirectoryScanner(
                directory,
                settings.poll_interval_ms / 1000,
                wakeup.ring,
                clock=clock,
                commit_log=settings.commit_log_directory,
            ),
            read_worker=ReadWorker(
                directory, open_reader, worker, wakeup.ring, attempts, clock=clock
            ),
            blocked_read=BlockedRead(settings.blocked_timeout_ms / 1000),
            delivery=Delivery(
                sink,
                settings.window_max_events,
                settings.window_max_bytes,
                metrics=metrics.delivery,
                clock=clock,
                transform=settings.transform,
                dead_letter_topic=settings.dead_letter_topic,
                tracing=settings.tracing,
                read_max_events=settings.read_max_events,
                read_max_bytes=settings.read_max_bytes,
            ),
            offsets=OffsetCommitter(
                store,
                ledger,
                settings.offset_flush_interval_ms / 1000,
                metrics=metrics.delivery,
                clock=clock,
            ),
            disposer=disposer,
            registrar=registrar or Registrar(SchemaIds(), {}),
            segments=segments_from_offsets(ledger),
            snapshot=snapshot,
            accord=None if accord is None else accord(record),
            announcer=announcer,
        )
        publisher = StatusPublisher[View](metrics.delivery, lambda view: set_gauges(view, metrics))
        views = ViewBuilder(context)
        source = SegmentSource(
            context,
            snapshot_store or store,
            worker,
            lambda error, is_stopping: publisher.publish(
                views.build(snapshot_save_error=error, is_stopping=is_stopping)
            ),
            watermark,
        )
        self.context = context
        """The parts that the steps share. For the pipeline's thread."""
        self._wakeup = wakeup
        loop = Loop(
            source,
            context.delivery,
            wakeup,
            metrics=metrics.delivery,
            waits_when_denied=settings.waits_when_denied,
            clock=clock,
        )
        super().__init__(loop, publisher)

    @property
    def last_tick_s(self) -> float:
        """When the last tick ended, or when the present read began if that is earlier: a read that
        does not end is a stall too. Any thread may ask."""
        reading_since_s = self.context.read_worker.reading_since_s
        last_tick_s = super().last_tick_s
        return last_tick_s if reading_since_s is None else min(last_tick_s, reading_since_s)

    def wake(self) -> None:
        """Something changed that a tick should see, such as the schema. Any thread may call it."""
        self._wakeup.ring()
