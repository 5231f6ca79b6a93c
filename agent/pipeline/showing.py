"""Makes the view and sets the gauges, often enough for people and seldom enough for throughput."""

import time
from collections.abc import Callable
from typing import Literal

from agent.cdc_raw.disk_forecast import RawGrowth
from agent.metrics import AgentMetrics
from agent.pipeline.holding import Hold, Holding
from agent.pipeline.keeping import Keeping
from agent.pipeline.leaving import EventSource, Leaving
from agent.pipeline.looking import Looking
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.view import HoldView, View
from agent.quarantine import Usage
from agent.segments import Segments
from sidecar.pipeline.delivering import Delivery
from sidecar.pipeline.shown import Shown

_QUARANTINE_INTERVAL_S = 5.0
"""Between looks at what a person changes there; what the agent changes is shown at once."""


class Showing(Shown[View]):
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
        self._raw_growth = RawGrowth()
        self._quarantine = Usage()
        self._quarantine_at_s = clock() - _QUARANTINE_INTERVAL_S

    def show(
        self,
        segments: Segments,
        looking: Looking,
        holding: Holding,
        delivery: Delivery[EventSource, int],
        keeping: Keeping,
        leaving: Leaving,
        *,
        copy_save_trouble: str,
        is_stopping: bool,
    ) -> None:
        """Makes the view of what there is now."""
        now_s = self._clock()
        is_due = now_s - self._quarantine_at_s >= _QUARANTINE_INTERVAL_S
        if is_due or leaving.has_changed_quarantine:
            self._quarantine_at_s = now_s
            self._quarantine = leaving.usage()
        self._raw_growth.saw(looking.last.size_bytes, now_s)
        window = delivery.window
        lag_bytes = segments.readable_bytes
        view = View(
            at_s=now_s,
            ledger=keeping.ledger,
            stored=keeping.stored,
            sink=delivery.sink_state,
            segments=tuple(segments),
            count_by_phase=segments.count_by_phase,
            hold=_hold_view(holding, now_s),
            is_stopping=is_stopping,
            unacknowledged_events=window.unacknowledged,
            unacknowledged_age_s=window.oldest_age_s or 0.0,
            window_bytes=window.held_bytes,
            lag_bytes=lag_bytes,
            lag_s=self._lag_s(lag_bytes, delivery),
            raw_bytes=looking.last.size_bytes,
            raw_growth_bytes_per_s=self._raw_growth.bytes_per_s,
            look_trouble=looking.trouble,
            watch_trouble=looking.watch_trouble,
            refused_files=looking.last.refused,
            refused_segments=looking.last.refused_segments,
            save_trouble=keeping.trouble,
            copy_save_trouble=copy_save_trouble,
            leave_trouble=leaving.trouble,
            record_trouble=leaving.record_trouble,
            removal_trouble=leaving.removal_trouble,
            retry_trouble=leaving.retry_trouble,
            quarantine=self._quarantine,
            backlog=leaving.backlog,
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
        metrics.held.set(view.hold is not None)
        metrics.held_seconds.set(view.hold.for_s if view.hold is not None else 0.0)
        metrics.quarantine_bytes.set(view.quarantine.size_bytes)
        metrics.quarantine_segments.set(view.quarantine.segments)
        metrics.watching.set(not view.watch_trouble)
        for phase, count in view.count_by_phase.items():
            metrics.segments.labels(phase.value).set(count)


def _hold_view(holding: Holding, now_s: float) -> HoldView | None:
    hold = holding.hold
    if hold is None:
        return None
    return HoldView(hold.name.log, hold.sentence, now_s - hold.since_s, _cause(hold))


def _cause(hold: Hold) -> Literal["schema", "registry", "file", "environment"]:
    if hold.unregistered:
        return "registry"
    if not hold.is_bounded:
        return "environment"
    return "file" if hold.missing is None else "schema"
