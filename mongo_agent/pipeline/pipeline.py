"""All streams of a deployment and their snapshots, delivered to one sink by the main loop."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from mongo_agent.config.loading import MongoConfig
from mongo_agent.dead_letters import DeadLetterWriter, Usage
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.batches import Heartbeat, OwnMessages
from mongo_agent.pipeline.signal_acks import SignalAcks
from mongo_agent.pipeline.stream import Stream
from mongo_agent.pipeline.stream_factory import StreamFactory
from mongo_agent.pipeline.view import SnapshotClock, View, lag_s, set_gauges, stream_view
from mongo_agent.signals.signal import Signal, SignalResult
from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.delivery.dead_letter_topic import DeadLetterTopic
from sidecar.delivery.delivery import Delivery
from sidecar.errors import UnavailableError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore
from sidecar.runtime.loop import Loop, LoopPipeline, Wakeup
from sidecar.sinks.base import Sink
from sidecar.status.publisher import StatusPublisher, delivery_view
from sidecar.transform import Transform

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 1.0
_READS_IN_A_TICK = 2
_QUARANTINE_INTERVAL_S = 5.0


class Pipeline(LoopPipeline[View]):
    """Delivers the streams of one deployment to one sink. Its loop calls it as its
    `sidecar.runtime.loop.ChangeSource`."""

    is_reading = False

    def __init__(
        self,
        config: MongoConfig,
        factory: StreamFactory,
        *,
        sink: Sink,
        store: OffsetStore,
        position: AgentOffsets,
        dead_letters: DeadLetterWriter,
        metrics: MongoMetrics,
        elections: Callable[[], int],
        transform: Transform | None = None,
        dead_letter_topic: DeadLetterTopic | None = None,
        stored: Callable[[AgentOffsets], AgentOffsets] | None = None,
        end_waits: Callable[[], None] | None = None,
    ) -> None:
        """`position` contains every stream to read; `elections` returns the number of elections.
        `transform` applies to every event before the sink; `dead_letter_topic` receives the events
        that the broker rejects. `stored` returns the position to resume from after a sink that
        stores positions was closed; `end_waits` ends all waits except for MongoDB, before the
        streams close."""
        properties = config.properties
        wakeup, clock = Wakeup(), time.monotonic
        self._delivery: Delivery[str, StreamOffset] = Delivery(
            sink,
            config.window_max_events,
            config.window_max_bytes,
            metrics=metrics.delivery,
            clock=clock,
            transform=transform,
            dead_letter_topic=dead_letter_topic,
        )
        self._flusher = OffsetFlusher(
            store,
            position,
            AgentOffsets.values,
            properties.offset_flush_interval_ms / 1000,
            metrics=metrics.delivery,
            clock=clock,
        )
        self._factory = factory
        self._dead_letters = dead_letters
        self._heartbeat = Heartbeat(
            properties.heartbeat_interval_ms, properties.heartbeat_topic_name, factory.heartbeat
        )
        self._metrics = metrics
        self._elections = elections
        self._wake = wakeup.ring
        self._is_streamed = config.is_streamed
        self._stored = stored
        self._end_waits = end_waits
        self._is_position_unsure = False
        self._signals = SignalAcks(metrics, wakeup.ring)
        self._repeated = RateLimitedLog(logger)
        self._quarantine = Usage()
        self._quarantine_at_s = time.monotonic() - _QUARANTINE_INTERVAL_S
        self._snapshot_clock = SnapshotClock()
        self.streams: dict[str, Stream] = {}
        """Open streams by name."""
        # The loop publishes when it is created.
        publisher = StatusPublisher[View](metrics.delivery, lambda view: set_gauges(view, metrics))
        self._publisher = publisher
        loop = Loop(
            self,
            self._delivery,
            wakeup,
            metrics=metrics.delivery,
            waits_when_denied=properties.waits_when_denied,
            clock=clock,
        )
        super().__init__(loop, publisher)

    def signal(self, signal: Signal) -> Future[SignalResult]:
        """Queue a signal for the next tick; the future completes when its effect is stored or the
        signal is rejected. Thread-safe."""
        return self._signals.submit(signal)

    @property
    def is_finished(self) -> bool:
        if self._is_streamed or not self.streams or not self._delivery.is_idle:
            return False
        return all(stream.position.snapshot.is_idle for stream in self.streams.values())

    @property
    def may_read(self) -> bool:
        return self._delivery.has_room

    def begin(self) -> None:
        """Store the first position, so that the agent starts there again after an early crash."""
        self._flusher.save_first()

    def prepare(self) -> bool:
        return self._signals.apply(self.streams.values())

    def read(self) -> bool:
        if not self._delivery.is_open or not self._is_position_sure():
            return False
        for name, position in self._flusher.reached.streams.items():
            if name not in self.streams:
                self.streams[name] = self._factory.open(
                    name, position, self._delivery.add, self._wake
                )
        worked = False
        for stream in self.streams.values():
            reached = self._flusher.reached.streams[stream.name]
            stream.snapshotter.acknowledge(reached.snapshot, reached.stream.time)
            for _ in range(_READS_IN_A_TICK):
                if not (self._delivery.wants_more and self._delivery.has_room):
                    return worked
                if not stream.tick():
                    break
                worked = True
            worked |= self._beat(stream)
        return worked

    def note_progress(self) -> bool:
        moved = self._delivery.progress()
        for progress in moved:
            self._flusher.reached = self._flusher.reached.moved(progress.source, progress.position)
        return bool(moved)

    def keep_dead_letter(self, rejected: RejectedEvent[str, StreamOffset]) -> bool:
        return self._dead_letters.keep(rejected.letter)

    def save(self) -> None:
        self._flusher.save(at_once=self._signals.is_waiting)
        self._signals.answer_stored(self._flusher.stored)

    def save_last(self) -> None:
        self._flusher.save_last()
        self._signals.answer_stored(self._flusher.stored)

    def dispose(self) -> bool:
        """Do nothing: stored progress requires no action."""
        return False

    def rewind(self) -> None:
        self._close_streams()
        self._signals.reapply()
        self._is_position_unsure = True

    def due_in_s(self) -> float:
        due = (self._flusher.due_in_s, self._dead_letters.due_in_s, self._heartbeat.due_in_s)
        return min([_LONGEST_PAUSE_S, *(each for each in due if each is not None)])

    def publish(self, *, is_stopping: bool) -> None:
        now_s = time.monotonic()
        if now_s - self._quarantine_at_s >= _QUARANTINE_INTERVAL_S:
            self._quarantine_at_s = now_s
            self._quarantine = self._dead_letters.usage()
        stored = self._flusher.stored.streams
        view = View(
            reached=self._flusher.reached,
            stored=self._flusher.stored,
            delivery=delivery_view(self._delivery),
            streams=tuple(
                stream_view(each, stored.get(name)) for name, each in self.streams.items()
            ),
            is_stopping=is_stopping,
            elections=self._elections(),
            lag_s=lag_s(self._delivery),
            save_error=self._flusher.error,
            record_error=self._dead_letters.error,
            quarantine=self._quarantine,
        )
        self._snapshot_clock = self._snapshot_clock.advance(
            now_s, is_running=view.is_snapshot_running, is_paused=view.is_snapshot_paused
        )
        self._publisher.publish(replace(view, snapshot_clock=self._snapshot_clock))

    def close(self) -> None:
        if self._end_waits is not None:
            self._end_waits()
        self._close_streams()
        self._signals.cancel()

    def _is_position_sure(self) -> bool:
        """Whether the position to resume from is known; queries the store if it is not."""
        if self._is_position_unsure and self._stored is not None:
            try:
                self._flusher.reached = self._stored(self._flusher.reached)
            except UnavailableError as error:
                self._repeated.log("position", str(error))
                return False
            self._repeated.resolved("position", "The position is readable again.")
        self._is_position_unsure = False
        return True

    def _beat(self, stream: Stream) -> bool:
        message = self._heartbeat.due(stream.name)
        if message is None:
            return False
        batch = OwnMessages((message,), stream.position)
        self._delivery.add(stream.name, batch, stream.position)
        self._metrics.heartbeats.inc()
        return True

    def _close_streams(self) -> None:
        for stream in self.streams.values():
            stream.stop()
        for stream in self.streams.values():
            stream.close()
        self.streams = {}
