"""Makes the view and sets the gauges, often enough for people and seldom enough for throughput."""

import time
from collections.abc import Callable, Mapping

from mongo_agent.dead_letters.quarantine import Usage
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.dead_letters import DeadLetterWriter
from mongo_agent.pipeline.settings import PipelineSettings
from mongo_agent.pipeline.snapshot_clock import SnapshotClock
from mongo_agent.pipeline.stream import Stream
from mongo_agent.pipeline.view import StreamView, View
from sidecar.delivery.delivery import Delivery
from sidecar.offsets.flusher import OffsetFlusher
from sidecar.runtime.status_publisher import StatusPublisher

_QUARANTINE_INTERVAL_S = 5.0


class StreamStatusPublisher(StatusPublisher[View]):
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
        self._copy_clock = SnapshotClock()

    def show(
        self,
        streams: Mapping[str, Stream],
        delivery: Delivery[str, StreamOffset],
        saving: OffsetFlusher[AgentOffsets],
        aside: DeadLetterWriter,
        *,
        is_stopping: bool,
    ) -> None:
        """Makes the view of what there is now."""
        now_s = self._clock()
        if now_s - self._quarantine_at_s >= _QUARANTINE_INTERVAL_S:
            self._quarantine_at_s = now_s
            self._quarantine = aside.usage()
        window = delivery.window
        stream_views = tuple(map(_stream_view, streams.values()))
        self._copy_clock = self._copy_clock.seen(
            now_s,
            is_running=any(stream.copies.is_running for stream in stream_views),
            is_paused=any(stream.copies.is_paused for stream in stream_views),
        )
        view = View(
            at_s=now_s,
            reached=saving.reached,
            stored=saving.stored,
            sink=delivery.sink_state,
            streams=stream_views,
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
        for stream in view.streams:
            metrics.stream_open.labels(stream.name).set(stream.state.is_open)
            metrics.stream_reopenings.labels(stream.name).set(stream.state.reopenings)
            metrics.read_time_seconds.labels(stream.name).set(stream.read_time.second)
        for name, reached in view.reached.lanes.items():
            metrics.acknowledged_time_seconds.labels(name).set(reached.stream.time.second)
        metrics.copy_running.set(any(stream.copies.is_running for stream in view.streams))
        metrics.copy_paused.set(any(stream.copies.is_paused for stream in view.streams))
        metrics.copy_remaining_collections.set(
            sum(stream.copies.remaining_collections for stream in view.streams)
        )


def _stream_view(stream: Stream) -> StreamView:
    return StreamView(
        name=stream.name,
        state=stream.reader.state,
        position=stream.position,
        copies=stream.copying.view(),
        read_time=stream.placed.token,
        last_streamed=stream.last_streamed,
        last_copied=stream.last_copied,
        last_transaction=stream.last_transaction,
        copy_error=stream.copying.error,
    )


def _lag_s(delivery: Delivery[str, StreamOffset]) -> float:
    """Age of the last acknowledged change while something waits; before the first one, for how long
    something has waited."""
    age_s = delivery.window.oldest_age_s
    if age_s is None:
        return 0.0
    last_us = delivery.last_acknowledged_write_ts_us
    return age_s if last_us is None else max(age_s, time.time() - last_us / 1_000_000)
