"""What the pipeline shows of itself: frozen values that any thread may look at."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mongo_agent.change_stream.reader import StreamState
from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.last_message import Seen
from mongo_agent.pipeline.snapshot_clock import SnapshotClock
from mongo_agent.snapshot.view import SnapshotView
from sidecar.status.publisher import DeliveryView


@dataclass(frozen=True, slots=True)
class StreamView:
    """One stream and its copies. `position` is behind all that was placed."""

    name: str
    state: StreamState
    position: StreamOffset
    copies: SnapshotView
    read_time: ClusterTime
    last_streamed: Seen | None = None
    last_copied: Seen | None = None
    """None before the first one since the start."""
    last_transaction: str | None = None
    copy_error: str = ""
    """Why collections could not be read at the last attempt; empty while they can be."""


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
