"""All streams of a deployment and their snapshots as the change source of the main loop."""

import logging
from collections.abc import Callable
from concurrent.futures import Future

from mongo_agent.dead_letters import DeadLetterWriter
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.batches import Heartbeat, OwnMessages
from mongo_agent.pipeline.signal_acks import SignalAcks
from mongo_agent.pipeline.stream import Add, Stream
from mongo_agent.pipeline.view import View, ViewBuilder
from mongo_agent.signals.signal import Signal, SignalResult
from sidecar.delivery.delivery import Delivery, RejectedEvent
from sidecar.errors import UnavailableError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.flusher import OffsetFlusher

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 1.0
_READS_IN_A_TICK = 2

OpenStream = Callable[[str, StreamOffset, Add, Callable[[], None]], Stream]
"""Creates a stream that reads from a position. The stream passes its batches to the first function,
and calls the second after each read."""


class StreamSet:
    """Implements `sidecar.runtime.loop.ChangeSource`."""

    is_reading = False

    def __init__(
        self,
        delivery: Delivery[str, StreamOffset],
        flusher: OffsetFlusher[AgentOffsets],
        *,
        open_stream: OpenStream,
        dead_letters: DeadLetterWriter,
        heartbeat: Heartbeat,
        metrics: MongoMetrics,
        wake: Callable[[], None],
        publish: Callable[[View], None],
        views: ViewBuilder,
        is_streamed: bool,
        stored: Callable[[AgentOffsets], AgentOffsets] | None,
        end_waits: Callable[[], None] | None,
    ) -> None:
        """`flusher` contains the position of every stream to read; `wake` wakes the loop; `publish`
        receives each view. Without `is_streamed` it finishes after the snapshots. `stored` returns
        the position to resume from after a sink that stores positions was closed; `end_waits` ends
        all waits except for MongoDB, before the streams close."""
        self._delivery = delivery
        self._flusher = flusher
        self._open_stream = open_stream
        self._dead_letters = dead_letters
        self._heartbeat = heartbeat
        self._metrics = metrics
        self._wake = wake
        self._publish = publish
        self._views = views
        self._is_streamed = is_streamed
        self._stored = stored
        self._end_waits = end_waits
        self._is_position_unsure = False
        self._signals = SignalAcks(metrics, wake)
        self._repeated = RateLimitedLog(logger)
        self.streams: dict[str, Stream] = {}
        """Open streams by name."""

    def signal(self, signal: Signal) -> Future[SignalResult]:
        """Queue a signal for the next tick; the future completes when its effect is stored or the
        signal is rejected. Thread-safe."""
        return self._signals.submit(signal)

    @property
    def is_finished(self) -> bool:
        if self._is_streamed or not self.streams or not self._delivery.is_idle:
            return False
        return all(stream.is_snapshot_done for stream in self.streams.values())

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
                self.streams[name] = self._open_stream(
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
        self._publish(self._views.build(self.streams.values(), is_stopping=is_stopping))

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
