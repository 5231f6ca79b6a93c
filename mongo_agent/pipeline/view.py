"""The published state of the pipeline: frozen values for any thread."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mongo_agent.change_stream.reader import StreamState
from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.documents.cluster_time import ClusterTime
from mongo_agent.offsets import AgentOffsets
from mongo_agent.pipeline.last_message import MessageSummary
from mongo_agent.pipeline.snapshot_clock import SnapshotClock
from mongo_agent.snapshot.records import ReplacedCollection
from mongo_agent.snapshot.view import SnapshotView
from sidecar.status.publisher import DeliveryView


@dataclass(frozen=True, slots=True)
class StreamView:
    """One stream and its snapshots."""

    name: str
    state: StreamState
    snapshot: SnapshotView
    read_time: ClusterTime
    last_streamed: MessageSummary | None = None
    last_snapshotted: MessageSummary | None = None
    """None before the first one since the start."""
    last_transaction: str | None = None
    snapshot_error: str = ""
    """Why collections cannot be read for a snapshot; empty while they can."""
    replaced: Sequence[ReplacedCollection] = ()
    """Collections whose topics wait for a command to follow them."""
    no_deletes: str = ""
    """Why the agent cannot publish deletes for them; empty if it can."""


@dataclass(frozen=True, slots=True)
class View:
    """The pipeline at one moment. Times are `time.monotonic` unless their name says otherwise."""

    at_s: float
    reached: AgentOffsets
    stored: AgentOffsets
    delivery: DeliveryView
    streams: Sequence[StreamView] = ()
    is_stopping: bool = False
    snapshot_clock: SnapshotClock = field(default_factory=SnapshotClock)
    elections: int = 0
    lag_s: float = 0.0
    save_error: str = ""
    record_error: str = ""
    quarantine: Usage = field(default_factory=Usage)
