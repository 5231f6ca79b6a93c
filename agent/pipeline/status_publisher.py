"""Makes the view and sets the gauges, often enough for people and seldom enough for throughput."""

import time
from collections.abc import Callable
from typing import Literal

from agent.cdc_raw.disk_forecast import GrowthRate
from agent.metrics import AgentMetrics
from agent.pipeline.blocked_read import BlockedRead, Obstacle
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.pipeline.offset_committer import OffsetCommitter
from agent.pipeline.segment_disposer import EventSource, SegmentDisposer
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.view import BlockedView, View
from agent.quarantine import Usage
from agent.segments import Segments
from sidecar.delivery.delivery import Delivery
from sidecar.runtime.status_publisher import StatusPublisher

_QUARANTINE_INTERVAL_S = 5.0
"""Between looks at what a person changes there; what the agent changes is shown at once."""


class SegmentStatusPublisher(StatusPublisher[View]):
    """The view of segments on their way."""

    def __init__(
        self, settings: PipelineSettings, metrics: AgentMetrics, *, clock: Callable[[], float]
    ) -> None:
        """`clock` gives seconds."""
        super().__init__(
            metrics.delivery, settings.window_max_events, settings.window_max_bytes, clock=clock
        )
        self._metrics = metrics
        self._lag_since_s: float | None = None
        self._has_caught_up = False
        self._raw_growth = GrowthRate()
        self._quarantine = Usage()
        self._quarantine_at_s = clock() - _QUARANTINE_INTERVAL_S

    def show(
        self,
        segments: Segments,
        scanner: DirectoryScanner,
        blocked_read: BlockedRead,
        delivery: Delivery[EventSource, int],
        offsets: OffsetCommitter,
        disposer: SegmentDisposer,
        *,
        copy_save_trouble: str,
        is_stopping: bool,
    ) -> None:
        """Makes the view of what there is now."""
        now_s = self._clock()
        is_due = now_s - self._quarantine_at_s >= _QUARANTINE_INTERVAL_S
        if is_due or disposer.has_changed_quarantine:
            self._quarantine_at_s = now_s
            self._quarantine = disposer.usage()
        self._raw_growth.saw(scanner.last.size_bytes, now_s)
        window = delivery.window
        lag_bytes = segments.readable_bytes
        view = View(
            at_s=now_s,
            ledger=offsets.ledger,
            stored=offsets.stored,
            sink=delivery.sink_state,
            segments=tuple(segments),
            count_by_phase=segments.count_by_phase,
            blocked=_blocked_view(blocked_read, now_s),
            is_stopping=is_stopping,
            unacknowledged_events=window.unacknowledged,
            unacknowledged_age_s=window.oldest_age_s or 0.0,
            window_bytes=window.held_bytes,
            lag_bytes=lag_bytes,
            lag_s=self._lag_s(lag_bytes, delivery),
            raw_bytes=scanner.last.size_bytes,
            raw_growth_bytes_per_s=self._raw_growth.bytes_per_s,
            look_trouble=scanner.trouble,
            watch_trouble=scanner.watch_trouble,
            refused_files=scanner.last.refused,
            irregular_segments=scanner.last.irregular_segments,
            save_trouble=offsets.trouble,
            copy_save_trouble=copy_save_trouble,
            leave_trouble=disposer.trouble,
            record_trouble=disposer.record_trouble,
            removal_trouble=disposer.removal_trouble,
            retry_trouble=disposer.retry_trouble,
            quarantine=self._quarantine,
            backlog=disposer.backlog,
        )
        self._keep(view, now_s)
        self._set_delivery_gauges(window, view.sink)
        self._set_gauges(view)

    def _lag_s(self, lag_bytes: int, delivery: Delivery[EventSource, int]) -> float:
        """Age of the last acknowledged write while something waits. Before the first one, and where
        a client's own time lies in the future: for how long something has waited. That is also the
        most it can be once all was delivered; the last write before a quiet hour is an hour old."""
        last_us = delivery.last_acknowledged_write_ts_us
        if not lag_bytes and not delivery.window.unacknowledged:
            self._lag_since_s = None
            self._has_caught_up = last_us is not None
            return 0.0
        if self._lag_since_s is None:
            self._lag_since_s = self._clock()
        waiting_s = self._clock() - self._lag_since_s
        age_s = -1.0 if last_us is None else time.time() - last_us / 1_000_000
        if age_s < 0:
            return waiting_s
        return min(age_s, waiting_s) if self._has_caught_up else age_s

    def _set_gauges(self, view: View) -> None:
        metrics = self._metrics
        metrics.lag_bytes.set(view.lag_bytes)
        metrics.lag_seconds.set(view.lag_s)
        metrics.raw_bytes.set(view.raw_bytes)
        metrics.held.set(view.blocked is not None)
        metrics.held_seconds.set(view.blocked.for_s if view.blocked is not None else 0.0)
        metrics.quarantine_bytes.set(view.quarantine.size_bytes)
        metrics.quarantine_segments.set(view.quarantine.segments)
        metrics.watching.set(not view.watch_trouble)
        for phase, count in view.count_by_phase.items():
            metrics.segments.labels(phase.value).set(count)


def _blocked_view(blocked_read: BlockedRead, now_s: float) -> BlockedView | None:
    obstacle = blocked_read.obstacle
    if obstacle is None:
        return None
    return BlockedView(
        obstacle.name.log, obstacle.sentence, now_s - obstacle.since_s, _cause(obstacle)
    )


def _cause(obstacle: Obstacle) -> Literal["schema", "registry", "file", "environment"]:
    if obstacle.unregistered:
        return "registry"
    if not obstacle.is_bounded:
        return "environment"
    return "file" if obstacle.missing is None else "schema"
