"""The parts that the steps of a tick share, and the state of the segments."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent.accord.journal import AccordJournal
from agent.cdc_raw.names import SegmentName
from agent.metrics import AgentMetrics
from agent.pipeline.blocked_read import BlockedRead
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.pipeline.offset_committer import OffsetCommitter
from agent.pipeline.read_worker import ReadWorker
from agent.pipeline.schema_changes import SchemaAnnouncer, SchemaChangeBatch
from agent.pipeline.segment_disposer import EventSource, SegmentDisposer
from agent.pipeline.settings import PipelineSettings
from agent.schema import SchemaHolder
from agent.segments.plan import Segments
from agent.segments.state import Segment
from agent.snapshot.snapshot import Snapshot
from commitlog import Unregistered
from sidecar.delivery.delivery import Delivery
from sidecar.schema_registry.registrar import Registrar

_RETRY_S = 1.0


@dataclass(slots=True)
class PipelineContext:
    """For the pipeline's thread."""

    settings: PipelineSettings
    schema: SchemaHolder
    metrics: AgentMetrics
    clock: Callable[[], float]
    """Gives seconds."""
    scanner: DirectoryScanner
    read_worker: ReadWorker
    blocked_read: BlockedRead
    delivery: Delivery[EventSource, int]
    offsets: OffsetCommitter
    disposer: SegmentDisposer
    registrar: Registrar[Unregistered]
    segments: Segments
    snapshot: Snapshot | None = None
    accord: AccordJournal | None = None
    """None without the capture of transactions."""
    announcer: SchemaAnnouncer | None = None
    """Makes the messages of the schema-change topic; None without one."""
    watermark_error: str = ""
    """Why the node was not probed for the last watermark; empty after a success, and without
    watermarks."""
    requeueing: frozenset[SegmentName] | None = None
    """Segments between the quarantine and `cdc_raw`, whose files a scan ignores; None until the
    quarantine was read once."""
    record_at_s: float = field(init=False)
    """When the agent next tries to write to the quarantine."""

    def __post_init__(self) -> None:
        self.record_at_s = self.clock()

    @property
    def can_record(self) -> bool:
        """False for a moment after the quarantine could not be written."""
        return self.clock() >= self.record_at_s

    def record_later(self) -> None:
        """The quarantine could not be written: the next attempt waits."""
        self.record_at_s = self.clock() + _RETRY_S

    @property
    def has_room(self) -> bool:
        """True when the window can take everything that a read may return."""
        return self.delivery.has_room

    @property
    def may_publish(self) -> bool:
        """False until the first messages of the schema-change topic are in the window."""
        return self.announcer is None or self.announcer.announced is not None

    def announce(self, source: EventSource, batch: SchemaChangeBatch, start: int) -> None:
        """Adds messages of the schema-change topic to the window."""
        assert self.announcer is not None
        self.delivery.add(source, batch, start, is_plain=True)
        self.announcer.added(self.delivery.window.next_number)

    def save_offsets(self, *, at_once: bool = False) -> bool:
        """Stores what was announced, then the offsets; True when all of it is stored."""
        if self.announcer is not None and not self.announcer.save():
            return False
        return self.offsets.save(at_once=at_once)

    def is_there(self, name: SegmentName) -> bool:
        """True when `cdc_raw` has a segment, or a reader holds it open."""
        segment = self.segments.get(name)
        return segment is not None and (segment.log is not None or segment.is_opened)

    def change(self, name: SegmentName, **facts: bool | int | None) -> None:
        """Changes fields of a segment, by their names in `Segment`."""

        def changed(segment: Segment) -> Segment:
            return replace(segment, **facts)  # type: ignore[arg-type]

        self.segments.change(name, changed)

    def close_reader(self, name: SegmentName) -> None:
        self.read_worker.close(name)
        self.change(name, is_opened=False)
