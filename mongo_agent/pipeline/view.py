"""The published state of the pipeline: frozen values for any thread, and their gauges."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mongo_agent.change_stream.reader import StreamState
from mongo_agent.dead_letters import Usage
from mongo_agent.documents import ClusterTime
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.batches import MessageSummary
from mongo_agent.pipeline.stream import Stream
from mongo_agent.snapshot.records import ReplacedCollection
from mongo_agent.snapshot.view import SnapshotView
from sidecar.delivery.delivery import Delivery
from sidecar.status.publisher import DeliveryView


@dataclass(frozen=True, slots=True)
class SnapshotClock:
    """Durations of snapshots; `running_s` includes `paused_s`. `seen_at_s` is the last update."""

    running_s: float = 0.0
    paused_s: float = 0.0
    seen_at_s: float | None = None
    was_running: bool = False
    was_paused: bool = False

    def advance(self, now_s: float, *, is_running: bool, is_paused: bool) -> "SnapshotClock":
        """Add the time since the last update, whose state lasted until now."""
        passed_s = 0.0 if self.seen_at_s is None else now_s - self.seen_at_s
        return replace(
            self,
            running_s=self.running_s + (passed_s if self.was_running else 0.0),
            paused_s=self.paused_s + (passed_s if self.was_running and self.was_paused else 0.0),
            seen_at_s=now_s,
            was_running=is_running,
            was_paused=is_paused,
        )


@dataclass(frozen=True, slots=True)
class StreamView:
    """One stream and its snapshots."""

    name: str
    state: StreamState
    snapshot: SnapshotView
    read_time: ClusterTime
    last_streamed: MessageSummary | None = None
    last_snapshotted: MessageSummary | None = None
    """The latest messages since the start; None before the first."""
    last_transaction: str | None = None
    snapshot_error: str = ""
    """Why snapshots cannot read collections; empty if they can."""
    replaced: Sequence[ReplacedCollection] = ()
    """Replaced collections that wait for an operator's command."""
    no_deletes: str = ""
    """Why the agent cannot publish deletes for them; empty if it can."""


@dataclass(frozen=True, slots=True)
class View:
    """The pipeline at one moment."""

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

    @property
    def is_snapshot_running(self) -> bool:
        return any(stream.snapshot.is_running for stream in self.streams)

    @property
    def is_snapshot_paused(self) -> bool:
        return any(stream.snapshot.is_paused for stream in self.streams)

    @property
    def remaining_collections(self) -> int:
        """Collections whose snapshot is not complete."""
        return sum(stream.snapshot.remaining_collections for stream in self.streams)


def set_gauges(view: View, metrics: MongoMetrics) -> None:
    metrics.lag_seconds.set(view.lag_s)
    metrics.quarantine_bytes.set(view.quarantine.size_bytes)
    for stream in view.streams:
        metrics.stream_open.labels(stream.name).set(stream.state.is_open)
        reopenings = metrics.stream_reopenings.labels(stream.name)
        metrics.count_up_to(reopenings, stream.state.reopenings)
        metrics.read_time_seconds.labels(stream.name).set(stream.read_time.second)
    for name, reached in view.reached.streams.items():
        metrics.acknowledged_time_seconds.labels(name).set(reached.stream.time.second)
    metrics.snapshot_running.set(view.is_snapshot_running)
    metrics.snapshot_paused.set(view.is_snapshot_paused)
    metrics.snapshot_remaining_collections.set(view.remaining_collections)


def stream_view(stream: Stream, stored: StreamOffset | None) -> StreamView:
    """A snapshot runs until its end is stored, because until then a restart continues it."""
    snapshot = stream.snapshotter.view()
    is_running = snapshot.is_running or (stored is not None and not stored.snapshot.is_idle)
    return StreamView(
        name=stream.name,
        state=stream.reader.state,
        snapshot=replace(snapshot, is_running=is_running),
        read_time=stream.placed.token,
        last_streamed=stream.streamed.seen,
        last_snapshotted=stream.snapshotted.seen,
        last_transaction=stream.last_transaction,
        snapshot_error=stream.snapshotter.error,
        replaced=stream.snapshotter.reported,
        no_deletes=stream.snapshotter.rules.no_deletes,
    )


def lag_s(delivery: Delivery[str, StreamOffset]) -> float:
    """Return how long events have waited, or the age of the last acknowledged change if that is
    longer; 0 if no event waits."""
    age_s = delivery.window.oldest_age_s
    if age_s is None:
        return 0.0
    last_us = delivery.last_acknowledged_write_ts_us
    return age_s if last_us is None else max(age_s, time.time() - last_us / 1_000_000)
