"""The published state of the pipeline: a frozen value for any thread, and its gauges."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.accord.journal import AccordView
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.quota import GrowthRate
from agent.metrics import AgentMetrics
from agent.pipeline.blocked_read import Obstacle
from agent.pipeline.context import PipelineContext
from agent.pipeline.directory_scanner import pause_s
from agent.quarantine.scanner import QuarantineUsage
from agent.segments.offsets import SegmentOffsets
from agent.segments.state import Phase, Segment
from agent.transfer.transfer import Backlog
from sidecar.health.condition import Condition, State
from sidecar.quantities import duration_text
from sidecar.status.publisher import DeliveryView, delivery_view

_BLOCKED_REMEDIES = {
    "schema": "Let the agent read the node's schema, or correct schema.file. After "
    "segment.blocked.timeout.ms the segment is quarantined.",
    "registry": "Start the schema registry, or correct the schema that it rejects. A rejected "
    "record is quarantined after segment.blocked.timeout.ms.",
    "file": "Give the agent the key of the segment, or repair the file. After "
    "segment.blocked.timeout.ms the rest of the segment is quarantined.",
    "environment": "Resolve this cause. Reading is retried every second, indefinitely.",
}


@dataclass(frozen=True, slots=True)
class BlockedView:
    segment: str
    message: str
    for_s: float
    cause: Literal["schema", "registry", "file", "environment"] = "file"
    """What blocks reading. `environment` and an unavailable registry have no timeout."""

    def condition(self, schema_error: str) -> Condition:
        """`schema_error`: why the schema cannot be read; empty if it is readable."""
        reason = self.message
        if self.cause == "schema" and schema_error:
            reason = f"{reason} {schema_error}"
        return Condition(
            "segment_blocked",
            State.FAILING,
            "schema_registry" if self.cause == "registry" else "cdc_raw",
            f"{self.segment} has been blocked for {duration_text(self.for_s)}: {reason}",
            _BLOCKED_REMEDIES[self.cause],
        )


@dataclass(frozen=True, slots=True)
class View:
    """The pipeline at one moment. Errors come from its parts, and are empty without an error. Times
    come from `time.monotonic` unless named otherwise."""

    ledger: SegmentOffsets
    stored: SegmentOffsets
    delivery: DeliveryView
    all_segments: Callable[[], tuple[Segment, ...]] = tuple
    """Returns the segments at the time of the call, oldest first. Views do not contain a copy,
    because there can be thousands of segments."""
    pinned_by_link: SegmentName | None = None
    """The oldest segment that a further hard link prevents from becoming final."""
    count_by_phase: Mapping[Phase, int] = field(default_factory=dict)
    blocked: BlockedView | None = None
    is_stopping: bool = False
    lag_bytes: int = 0
    lag_s: float = 0.0
    raw_bytes: int = 0
    raw_growth_bytes_per_s: float | None = None
    """None if unknown."""
    read_error: str = ""
    watch_error: str = ""
    other_files: tuple[str, ...] = ()
    irregular_segments: tuple[str, ...] = ()
    save_error: str = ""
    snapshot_save_error: str = ""
    record_error: str = ""
    removal_error: str = ""
    retry_error: str = ""
    quarantine: QuarantineUsage = field(default_factory=QuarantineUsage)
    watermark_error: str = ""
    accord: AccordView | None = None
    """None if transactions are not captured."""
    backlog: Backlog | None = None
    """Backlog of the transfer; None without a remote store."""


_QUARANTINE_INTERVAL_S = 5.0
"""Interval between scans for changes by the operator. Changes by the agent trigger a scan, unless
scans take long."""


class ViewBuilder:
    """Builds views. Only for the pipeline's thread."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._lag_since_s: float | None = None
        self._has_caught_up = False
        self._raw_growth = GrowthRate()
        self._quarantine = QuarantineUsage()
        self._quarantine_pause_s = 0.0
        self._quarantine_at_s = context.clock() - _QUARANTINE_INTERVAL_S

    def build(
        self,
        *,
        is_stopping: bool,
        snapshot_save_error: str,
        watermark_error: str,
        accord: AccordView | None,
    ) -> View:
        context, now_s = self._context, self._context.clock()
        scanner, disposer, segments = context.scanner, context.disposer, context.segments
        since_s = now_s - self._quarantine_at_s
        has_changed = disposer.has_changed_quarantine and since_s >= self._quarantine_pause_s
        if has_changed or since_s >= _QUARANTINE_INTERVAL_S:
            self._quarantine = disposer.usage()
            self._quarantine_at_s = context.clock()
            self._quarantine_pause_s = pause_s(self._quarantine_at_s - now_s)
        if scanner.is_current:
            self._raw_growth.add(scanner.size_bytes, now_s)
        lag_bytes, obstacle = segments.readable_bytes, context.blocked_read.obstacle
        return View(
            ledger=context.offsets.reached,
            stored=context.offsets.stored,
            delivery=delivery_view(context.delivery),
            all_segments=segments.all,
            pinned_by_link=segments.pinned_by_link,
            count_by_phase=segments.count_by_phase,
            blocked=None if obstacle is None else _blocked_view(obstacle, now_s),
            is_stopping=is_stopping,
            lag_bytes=lag_bytes,
            lag_s=self._lag_s(lag_bytes),
            raw_bytes=scanner.size_bytes,
            raw_growth_bytes_per_s=self._raw_growth.bytes_per_s,
            read_error=scanner.error,
            watch_error=scanner.watcher.error,
            other_files=scanner.last.other_files,
            irregular_segments=scanner.last.irregular_segments,
            save_error=context.offsets.error,
            snapshot_save_error=snapshot_save_error,
            record_error=disposer.record_error,
            removal_error=disposer.removal_error,
            retry_error=disposer.retry_error,
            quarantine=self._quarantine,
            watermark_error=watermark_error,
            accord=accord,
            backlog=disposer.transfer.backlog,
        )

    def _lag_s(self, lag_bytes: int) -> float:
        """Returns the age of the latest acknowledged write while something waits. Before the first
        acknowledgement, or for a timestamp in the future, returns how long something has waited.
        Once everything was delivered, the result is at most this time, because the final write
        before a quiet hour is an hour old."""
        delivery, now_s = self._context.delivery, self._context.clock()
        last_us = delivery.last_acknowledged_write_ts_us
        if not lag_bytes and not delivery.window.unacknowledged:
            self._lag_since_s = None
            self._has_caught_up = last_us is not None
            return 0.0
        if self._lag_since_s is None:
            self._lag_since_s = now_s
        waiting_s = now_s - self._lag_since_s
        age_s = -1.0 if last_us is None else time.time() - last_us / 1_000_000
        if age_s < 0:
            return waiting_s
        return min(age_s, waiting_s) if self._has_caught_up else age_s


def set_gauges(view: View, metrics: AgentMetrics) -> None:
    metrics.lag_bytes.set(view.lag_bytes)
    metrics.lag_seconds.set(view.lag_s)
    metrics.raw_bytes.set(view.raw_bytes)
    metrics.blocked.set(view.blocked is not None)
    metrics.blocked_seconds.set(view.blocked.for_s if view.blocked is not None else 0.0)
    metrics.quarantine_bytes.set(view.quarantine.size_bytes)
    metrics.quarantine_segments.set(view.quarantine.segments)
    metrics.inotify_active.set(not view.watch_error)
    if view.accord is not None:
        metrics.accord_waiting.set(view.accord.waiting)
        metrics.accord_oldest_seconds.set(view.accord.oldest_s)
    for phase, count in view.count_by_phase.items():
        metrics.segments.labels(phase.value).set(count)


def _blocked_view(obstacle: Obstacle, now_s: float) -> BlockedView:
    cause: Literal["schema", "registry", "file", "environment"] = "schema"
    if obstacle.unregistered:
        cause = "registry"
    elif not obstacle.is_bounded:
        cause = "environment"
    elif obstacle.missing is None:
        cause = "file"
    return BlockedView(obstacle.name.log, obstacle.message, now_s - obstacle.since_s, cause)
