"""Assembles the parts of one node's pipeline around the loop."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from agent.accord.capture import Record
from agent.accord.journal import AccordJournal
from agent.cdc_raw.names import SegmentName
from agent.metrics import VANISHED, AgentMetrics
from agent.pipeline.blocked_read import BlockedRead
from agent.pipeline.context import OffsetCommitter, PipelineContext, PipelineSettings
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.pipeline.read_attempts import ReadAttempts
from agent.pipeline.reader import OpenReader, ReadWorker
from agent.pipeline.schema_changes import SchemaAnnouncer
from agent.pipeline.segment_disposer import SegmentDisposer
from agent.pipeline.segment_source import SegmentSource
from agent.pipeline.steps.watermark import WatermarkParts
from agent.pipeline.view import View, set_gauges
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from agent.schema import SchemaHolder
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import segments_from_offsets
from agent.snapshot.snapshot import Snapshot
from agent.transfer.transfer import Transfer
from sidecar.delivery.delivery import Delivery
from sidecar.encoding import SchemaIds, Unregistered
from sidecar.offsets.flusher import OffsetStore
from sidecar.runtime.loop import Loop, LoopPipeline, Wakeup
from sidecar.schema_registry.registrar import Registrar
from sidecar.sinks.base import Sink
from sidecar.status.publisher import StatusPublisher


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineParts:
    """The parts of a pipeline."""

    open_reader: OpenReader
    schema: SchemaHolder
    sink: Sink
    store: OffsetStore
    ledger: SegmentOffsets
    """The offsets in `store`."""
    transfer: Transfer
    quarantine: Quarantine
    metrics: AgentMetrics
    attempts: ReadAttempts | None = None
    registrar: Registrar[Unregistered] | None = None
    announcer: SchemaAnnouncer | None = None
    snapshot: Snapshot | None = None
    snapshot_store: OffsetStore | None = None
    """Stores the progress of `snapshot`; defaults to `store`."""
    accord: Callable[[Record], AccordJournal] | None = None
    """Creates the reader of transactions, which records lost changes through its argument."""
    watermark: WatermarkParts | None = None


class Pipeline(LoopPipeline[View]):
    """Delivers one node's segments to one sink."""

    def __init__(
        self,
        settings: PipelineSettings,
        parts: PipelineParts,
        *,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`executor` has one worker, and defaults to a new thread; `clock` returns seconds."""
        self._wakeup = Wakeup()
        worker = executor or ThreadPoolExecutor(1, "reader")
        metrics = parts.metrics
        self.context = _create_context(settings, parts, worker, self._wakeup, clock)
        """The parts that all steps share. Only for the pipeline's thread."""
        disposer = self.context.disposer

        def record(name: SegmentName, lost: LostRange) -> bool:
            return disposer.record(name, (lost,), VANISHED)

        publisher = StatusPublisher[View](metrics.delivery, lambda view: set_gauges(view, metrics))
        source = SegmentSource(
            self.context,
            worker,
            publisher,
            snapshot_store=parts.snapshot_store or parts.store,
            journal=None if parts.accord is None else parts.accord(record),
            watermark=parts.watermark,
        )
        loop = Loop(
            source,
            self.context.delivery,
            self._wakeup,
            metrics=metrics.delivery,
            waits_when_denied=settings.waits_when_denied,
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

    def wake(self) -> None:
        """Requests a tick after a change, such as a new schema. Any thread may call it."""
        self._wakeup.ring()


def _create_context(
    settings: PipelineSettings,
    parts: PipelineParts,
    worker: Executor,
    wakeup: Wakeup,
    clock: Callable[[], float],
) -> PipelineContext:
    directory, metrics = settings.cdc_raw_directory, parts.metrics
    return PipelineContext(
        settings=settings,
        schema=parts.schema,
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
            directory, parts.open_reader, worker, wakeup.ring, parts.attempts, clock=clock
        ),
        blocked_read=BlockedRead(settings.blocked_timeout_ms / 1000),
        delivery=Delivery(
            parts.sink,
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
            parts.store,
            parts.ledger,
            settings.offset_flush_interval_ms / 1000,
            parts.announcer,
            metrics=metrics.delivery,
            clock=clock,
        ),
        disposer=SegmentDisposer(directory, parts.transfer, parts.quarantine, metrics, clock=clock),
        registrar=parts.registrar or Registrar(SchemaIds(), {}),
        segments=segments_from_offsets(parts.ledger),
        snapshot=parts.snapshot,
        announcer=parts.announcer,
    )
