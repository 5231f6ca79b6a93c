"""Makes the view and sets the gauges, often enough for people and seldom enough for throughput."""

import time
from collections.abc import Callable, Mapping

from mongo_agent.metrics import MongoMetrics
from mongo_agent.pipeline.copy_clock import CopyClock
from mongo_agent.pipeline.lane import Lane
from mongo_agent.pipeline.setting_aside import SettingAside
from mongo_agent.pipeline.settings import PipelineSettings
from mongo_agent.pipeline.view import LaneView, View
from mongo_agent.position import AgentPosition, LanePosition
from mongo_agent.quarantine import Usage
from sidecar.pipeline.delivering import Delivery
from sidecar.pipeline.saving import Saving
from sidecar.pipeline.shown import Shown

_QUARANTINE_INTERVAL_S = 5.0


class Showing(Shown[View]):
    """The view of streams and copies."""

    def __init__(
        self,
        settings: PipelineSettings,
        metrics: MongoMetrics,
        *,
        elections: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        """`elections` gives their number so far, `clock` seconds."""
        super().__init__(
            metrics.delivery, settings.window_max_events, settings.window_max_bytes, clock=clock
        )
        self._elections = elections
        self._metrics = metrics
        self._quarantine = Usage()
        self._quarantine_at_s = clock() - _QUARANTINE_INTERVAL_S
        self._settings = settings
        self._copy_clock = CopyClock()

    def show(
        self,
        lanes: Mapping[str, Lane],
        delivery: Delivery[str, LanePosition],
        saving: Saving[AgentPosition],
        aside: SettingAside,
        *,
        is_stopping: bool,
    ) -> None:
        """Makes the view of what there is now."""
        now_s = self._clock()
        if now_s - self._quarantine_at_s >= _QUARANTINE_INTERVAL_S:
            self._quarantine_at_s = now_s
            self._quarantine = aside.usage()
        window = delivery.window
        lane_views = tuple(map(_lane_view, lanes.values()))
        self._copy_clock = self._copy_clock.seen(
            now_s,
            is_running=any(lane.copies.is_running for lane in lane_views),
            is_paused=any(lane.copies.is_paused for lane in lane_views),
        )
        view = View(
            at_s=now_s,
            reached=saving.reached,
            stored=saving.stored,
            sink=delivery.sink_state,
            lanes=lane_views,
            is_stopping=is_stopping,
            unacknowledged_events=window.unacknowledged,
            unacknowledged_age_s=window.oldest_age_s or 0.0,
            window_bytes=window.held_bytes,
            window_limit_events=self._settings.window_max_events,
            window_limit_bytes=self._settings.window_max_bytes,
            copy_clock=self._copy_clock,
            elections=self._elections(),
            lag_s=_lag_s(delivery),
            save_trouble=saving.trouble,
            quarantine_trouble=aside.trouble,
            quarantine=self._quarantine,
        )
        self._keep(view, now_s)
        self._set_delivery_gauges(window, view.sink)
        self._set_gauges(view)

    def _set_gauges(self, view: View) -> None:
        metrics = self._metrics
        metrics.lag_seconds.set(view.lag_s)
        metrics.quarantine_bytes.set(view.quarantine.size_bytes)
        for lane in view.lanes:
            metrics.stream_open.labels(lane.name).set(lane.stream.is_open)
            metrics.stream_reopenings.labels(lane.name).set(lane.stream.reopenings)
            metrics.read_time_seconds.labels(lane.name).set(lane.read_time.second)
        for name, reached in view.reached.lanes.items():
            metrics.acknowledged_time_seconds.labels(name).set(reached.stream.time.second)
        metrics.copy_running.set(any(lane.copies.is_running for lane in view.lanes))
        metrics.copy_paused.set(any(lane.copies.is_paused for lane in view.lanes))
        metrics.copy_remaining_collections.set(
            sum(lane.copies.remaining_collections for lane in view.lanes)
        )


def _lane_view(lane: Lane) -> LaneView:
    return LaneView(
        name=lane.name,
        stream=lane.reader.state,
        position=lane.position,
        copies=lane.copying.view(),
        read_time=lane.placed.token,
        last_streamed=lane.last_streamed,
        last_copied=lane.last_copied,
        last_transaction=lane.last_transaction,
        copy_error=lane.copying.error,
    )


def _lag_s(delivery: Delivery[str, LanePosition]) -> float:
    """Age of the last acknowledged change while something waits; before the first one, for how long
    something has waited."""
    age_s = delivery.window.oldest_age_s
    if age_s is None:
        return 0.0
    last_us = delivery.last_acknowledged_write_ts_us
    return age_s if last_us is None else max(age_s, time.time() - last_us / 1_000_000)
