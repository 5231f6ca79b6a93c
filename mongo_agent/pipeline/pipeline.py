"""Assembly of one deployment's pipeline around the main loop."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from mongo_agent.dead_letters import DeadLetterWriter
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.batches import Heartbeat, HeartbeatSettings
from mongo_agent.pipeline.stream_set import OpenStream, StreamSet
from mongo_agent.pipeline.view import View, ViewBuilder, set_gauges
from mongo_agent.signals.signal import Signal, SignalResult
from sidecar.delivery.dead_letter_topic import DeadLetterTopic
from sidecar.delivery.delivery import Delivery
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore
from sidecar.runtime.loop import Loop, LoopPipeline, Wakeup
from sidecar.sinks.base import Sink
from sidecar.status.publisher import StatusPublisher
from sidecar.transform import Transform


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    window_max_events: int
    window_max_bytes: int
    offset_flush_interval_ms: int
    is_streamed: bool = True
    """False: the agent exits after the snapshots."""
    heartbeat: HeartbeatSettings = field(default_factory=HeartbeatSettings)
    waits_when_denied: bool = True
    """Whether the agent retries when the sink denies access, instead of raising the error."""
    transform: Transform | None = None
    """Applied to every event before the sink."""
    dead_letter_topic: DeadLetterTopic | None = None
    """Receives the events that the broker rejects."""


class Pipeline(LoopPipeline[View]):
    """Delivers the streams of one deployment to one sink."""

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        open_stream: OpenStream,
        sink: Sink,
        store: OffsetStore,
        position: AgentOffsets,
        dead_letters: DeadLetterWriter,
        metrics: MongoMetrics,
        elections: Callable[[], int],
        stored: Callable[[AgentOffsets], AgentOffsets] | None = None,
        end_waits: Callable[[], None] | None = None,
    ) -> None:
        """`position` contains every stream to read; `elections` returns the number of elections;
        `StreamSet` describes `stored` and `end_waits`."""
        wakeup, clock = Wakeup(), time.monotonic
        delivery: Delivery[str, StreamOffset] = Delivery(
            sink,
            settings.window_max_events,
            settings.window_max_bytes,
            metrics=metrics.delivery,
            clock=clock,
            transform=settings.transform,
            dead_letter_topic=settings.dead_letter_topic,
        )
        flusher = OffsetFlusher(
            store,
            position,
            AgentOffsets.values,
            settings.offset_flush_interval_ms / 1000,
            metrics=metrics.delivery,
            clock=clock,
        )
        publisher = StatusPublisher[View](metrics.delivery, lambda view: set_gauges(view, metrics))
        self._source = StreamSet(
            delivery,
            flusher,
            open_stream=open_stream,
            dead_letters=dead_letters,
            heartbeat=Heartbeat(settings.heartbeat),
            metrics=metrics,
            wake=wakeup.ring,
            publish=publisher.publish,
            views=ViewBuilder(delivery, flusher, dead_letters, elections),
            is_streamed=settings.is_streamed,
            stored=stored,
            end_waits=end_waits,
        )
        loop = Loop(
            self._source,
            delivery,
            wakeup,
            metrics=metrics.delivery,
            waits_when_denied=settings.waits_when_denied,
            clock=clock,
        )
        super().__init__(loop, publisher)

    def signal(self, signal: Signal) -> Future[SignalResult]:
        """Queue a signal for the next tick; the future completes when its effect is stored or the
        signal is rejected. Thread-safe."""
        return self._source.signal(signal)
