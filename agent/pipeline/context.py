"""The settings of a pipeline, its offsets, and the parts that the steps of a tick share."""

from collections.abc import Callable, Container, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from agent.accord.journal import AccordJournal
from agent.cdc_raw.names import SegmentName
from agent.config.model import AgentProperties
from agent.metrics import AgentMetrics
from agent.pipeline.blocked_read import BlockedRead
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.pipeline.read_attempts import ReadAttempts
from agent.pipeline.reader import OpenReader, ReadWorker
from agent.pipeline.schema_changes import SchemaAnnouncer
from agent.pipeline.segment_disposer import EventSource, SegmentDisposer
from agent.quarantine.quarantine import Quarantine
from agent.schema import SchemaHolder
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import segments_from_offsets
from agent.snapshot.snapshot import Snapshot
from agent.transfer.transfer import Transfer
from agent.watermark.message import PlainBatch, WatermarkParts
from sidecar.delivery.dead_letter_topic import DeadLetterTopic
from sidecar.delivery.delivery import Delivery
from sidecar.encoding import SchemaIds
from sidecar.metrics import DeliveryMetrics
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore
from sidecar.schema_registry.registrar import Registrar
from sidecar.sinks.base import Sink
from sidecar.tracing.open_telemetry import Tracing
from sidecar.transform import Transform


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    properties: AgentProperties
    cdc_raw_directory: Path
    commit_log_directory: Path | None = None
    """The directory with the node's own links to the segments."""
    deletes_at_bytes: int | None = None
    """Size at which the node deletes unread segments; None if unknown or if it rejects writes."""
    transform: Transform | None = None
    dead_letter_topic: DeadLetterTopic | None = None
    tracing: Tracing | None = None
    batch_max_events: int = 5000
    batch_max_bytes: int = 1 << 20

    @property
    def read_max_events(self) -> int:
        """Maximum events per read: at most a quarter of the window, so that reads and delivery
        overlap and a started read always fits."""
        return max(1, min(self.batch_max_events, self.properties.inflight_max_events // 4))

    @property
    def read_max_bytes(self) -> int:
        return max(1, min(self.batch_max_bytes, self.properties.inflight_max_bytes // 4))


class OffsetCommitter(OffsetFlusher[SegmentOffsets]):
    """Tracks reached offsets and stores them. A segment stays in `cdc_raw` until it is stored as
    COMPLETED. Schema announcements are stored before offsets, so that no offset passes them."""

    def __init__(
        self,
        store: OffsetStore,
        ledger: SegmentOffsets,
        flush_interval_s: float,
        announcer: SchemaAnnouncer | None = None,
        *,
        metrics: DeliveryMetrics,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(
            store, ledger, SegmentOffsets.to_stored, flush_interval_s, metrics=metrics, clock=clock
        )
        self._announcer = announcer

    def save(self, *, at_once: bool = False) -> bool:
        """Stores announcements, then offsets; returns True if everything is stored."""
        if self._announcer is not None and not self._announcer.save():
            return False
        return super().save(at_once=at_once)

    def advance(self, name: SegmentName, position: int, fingerprint: int | None) -> None:
        self.reached = self.reached.advanced(name, position, fingerprint)

    def forget(self, name: SegmentName) -> None:
        """Forgets the offset of a segment, so that reading restarts at its beginning."""
        self.reached = self.reached.forgotten(name)

    def finish(self, names: Iterable[SegmentName], *, present: Container[SegmentName]) -> None:
        """Marks segments as COMPLETED; never forgets `present` segments."""
        ledger = self.reached
        new = [name for name in names if not ledger.is_completed(name)]
        if new:
            ledger = ledger.finished(*new)
        self.reached = ledger.trimmed(present)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineParts:
    """The parts of the agent that a pipeline uses."""

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
    registrar: Registrar | None = None
    announcer: SchemaAnnouncer | None = None
    snapshot: Snapshot | None = None
    snapshot_store: OffsetStore | None = None
    """Stores the progress of `snapshot`; defaults to `store`."""
    journal: AccordJournal | None = None
    """The reader of transactions; None if they are not captured."""
    watermark: WatermarkParts | None = None


class PipelineContext:
    """The parts that all steps share. Only for the pipeline's thread."""

    def __init__(
        self,
        settings: PipelineSettings,
        parts: PipelineParts,
        executor: Executor,
        wake: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """Any thread may call `wake`; `clock` returns seconds."""
        directory, metrics = settings.cdc_raw_directory, parts.metrics
        properties = settings.properties
        self.settings = settings
        self.schema = parts.schema
        self.metrics = metrics
        self.clock = clock
        self.scanner = DirectoryScanner(
            directory,
            properties.poll_interval_ms / 1000,
            wake,
            clock=clock,
            commit_log=settings.commit_log_directory,
        )
        self.read_worker = ReadWorker(
            directory, parts.open_reader, executor, wake, parts.attempts, clock=clock
        )
        self.blocked_read = BlockedRead(properties.blocked_timeout_ms / 1000)
        self.delivery: Delivery[EventSource, int] = Delivery(
            parts.sink,
            properties.inflight_max_events,
            properties.inflight_max_bytes,
            metrics=metrics.delivery,
            clock=clock,
            transform=settings.transform,
            dead_letter_topic=settings.dead_letter_topic,
            tracing=settings.tracing,
            read_max_events=settings.read_max_events,
            read_max_bytes=settings.read_max_bytes,
        )
        self.offsets = OffsetCommitter(
            parts.store,
            parts.ledger,
            properties.offset_flush_interval_ms / 1000,
            parts.announcer,
            metrics=metrics.delivery,
            clock=clock,
        )
        self.disposer = SegmentDisposer(
            directory, parts.transfer, parts.quarantine, metrics, clock=clock
        )
        self.registrar = parts.registrar or Registrar(SchemaIds(), {})
        self.segments = segments_from_offsets(parts.ledger)
        self.snapshot = parts.snapshot
        self.announcer = parts.announcer
        """Creates messages for the schema-change topic; None without this topic."""

    @property
    def may_publish(self) -> bool:
        """False until the first messages of the schema-change topic are in the window."""
        return self.announcer is None or self.announcer.announced is not None

    def announce(self, source: EventSource, batch: PlainBatch, start: int) -> None:
        """Adds messages of the schema-change topic to the window."""
        assert self.announcer is not None
        self.delivery.add(source, batch, start, is_plain=True)
        self.announcer.note_added(self.delivery.window.next_number)

    def change(self, name: SegmentName, **facts: bool | int | None) -> None:
        """Changes fields of a segment, by their names in `Segment`."""
        self.segments.change(name, lambda segment: replace(segment, **facts))  # type: ignore[arg-type]

    def close_reader(self, name: SegmentName) -> None:
        self.read_worker.close(name)
        self.change(name, is_opened=False)
