"""The loop that joins everything: place, deliver, acknowledge, save.

One thread takes turns; streams and chunks are read by others. A turn does what can be done and
never waits, except for the sink's bounded sends, for acknowledgements when the window is full, and
the disk. Between turns without work the thread waits on one condition: something was read, a signal
came, a request to stop, or the time at which something is due.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets import AgentOffsets, StreamOffset
from mongo_agent.pipeline.batches import OwnMessages
from mongo_agent.pipeline.dead_letters import DeadLetterWriter
from mongo_agent.pipeline.heartbeat import Heartbeat
from mongo_agent.pipeline.settings import PipelineSettings
from mongo_agent.pipeline.signal_acks import SignalAcks
from mongo_agent.pipeline.status_publisher import StreamStatusPublisher
from mongo_agent.pipeline.stream import Add, Stream
from mongo_agent.pipeline.view import View
from mongo_agent.signals import Signal, SignalResult
from sidecar.dead_letters.dead_letter import DeadLetter
from sidecar.delivery.delivery import Delivery
from sidecar.delivery.sink_driver import SinkDriver
from sidecar.errors import RefusedError, SinkRestartError, UnavailableError
from sidecar.logs import RateLimitedLog
from sidecar.offsets.flusher import OffsetFlusher, OffsetStore
from sidecar.process.lifecycle import Stop
from sidecar.runtime.drain import drain, say_stopped
from sidecar.runtime.tune_gc import tune_gc
from sidecar.runtime.tune_gil import tune_gil
from sidecar.runtime.wakeup import Wakeup
from sidecar.sinks.base import Sink

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 1.0
_READS_IN_A_TICK = 2

OpenStream = Callable[[str, StreamOffset, Callable[[], None]], Stream]
"""Makes a stream that reads from a position on. It calls the given function after each read."""


class Pipeline:
    """The streams of one deployment on their way to one sink."""

    def __init__(
        self,
        settings: PipelineSettings,
        *,
        open_stream: OpenStream,
        sink: Sink,
        store: OffsetStore,
        position: AgentOffsets,
        aside: DeadLetterWriter,
        metrics: MongoMetrics,
        elections: Callable[[], int],
        stored: Callable[[AgentOffsets], AgentOffsets] | None = None,
        end_waits: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`position` has every stream that is to be read; `elections` gives how many there were;
        `stored` says where to go on when the sink, which stores positions itself, was closed;
        `end_waits` lets streams wait for nothing more but MongoDB, in front of the end; `clock`
        gives seconds."""
        self._wakeup = Wakeup()
        self._settings = settings
        self._open_stream = open_stream
        self._aside = aside
        self._metrics = metrics
        self._delivery: Delivery[str, StreamOffset] = Delivery(
            sink,
            settings.window_max_events,
            settings.window_max_bytes,
            metrics=metrics.delivery,
            clock=clock,
            transform=settings.transform,
        )
        self._sink = SinkDriver(self._delivery, metrics=metrics.delivery, clock=clock)
        self._saving = OffsetFlusher(
            store,
            position,
            AgentOffsets.values,
            settings.offset_flush_interval_ms / 1000,
            metrics=metrics.delivery,
            clock=clock,
        )
        self._heartbeat = Heartbeat(settings.heartbeat, clock=clock)
        self._streams: dict[str, Stream] = {}
        self._answering = SignalAcks(metrics, self._wakeup.ring)
        self._is_stopping = False
        self._stored = stored
        self._end_waits = end_waits
        self._is_unsure = False
        self._repeated = RateLimitedLog(logger, clock=clock)
        self._publisher = StreamStatusPublisher(settings, metrics, elections=elections, clock=clock)
        self._show()

    @property
    def view(self) -> View:
        """The last state that was shown. Any thread may ask."""
        return self._publisher.view

    @property
    def last_tick_s(self) -> float:
        """When the last turn was made, by the clock. Any thread may ask."""
        return self._publisher.last_tick_s

    def signal(self, signal: Signal) -> Future[SignalResult]:
        """Gives a signal to the next turn; the answer comes when what it asks for is stored. Any
        thread may call it."""
        return self._answering.give(signal)

    def run(self, stop: Stop) -> None:
        """Takes turns until `stop` is requested, then drains within its deadline.

        Raises what a stream or the sink raises when it cannot go on. Progress is saved in every
        case.
        """
        try:
            # So that a crash in front of the first event does not begin at another time.
            self._saving.save_first()
            with tune_gc(), tune_gil():
                while not (stop.requested or self._is_over):
                    if not self.tick():
                        self._wakeup.wait(self._pause_s(), stop.fileno())
                self._drain(stop)
        finally:
            self._close(stop.remaining_s if stop.requested else 0.0)

    def tick(self) -> bool:
        """Does what can be done; True when there was something."""
        worked = self._take_signals()
        try:
            if self._delivery.is_open and self._is_sure():
                self._open_streams()
                worked |= self._fill()
            worked |= self._sink.tick(
                may_read=self._delivery.window.has_room, may_open=not self._is_stopping
            )
        except SinkRestartError as error:
            self._start_again(error)
            worked = True
        except RefusedError as error:
            if not self._settings.waits_when_refused:
                raise
            self._start_again(error)
            worked = True
        worked |= self._advance()
        worked |= self._set_refused_aside()
        self._save()
        self._publisher.moved()
        if self._publisher.is_due or not worked:
            self._show()
        return worked

    @property
    def _is_over(self) -> bool:
        """Whether everything is done that was to be done, where that is a copy alone."""
        if self._settings.is_streamed or not self._streams or not self._delivery.is_idle:
            return False
        return all(stream.is_copied for stream in self._streams.values())

    def _is_sure(self) -> bool:
        """Whether it is known where to go on; asks the store when it is not."""
        if self._is_unsure and self._stored is not None:
            try:
                self._saving.reached = self._stored(self._saving.reached)
            except UnavailableError as error:
                self._repeated.log("position", str(error))
                return False
            self._repeated.resolved("position", "The position is read again.")
        self._is_unsure = False
        return True

    def _open_streams(self) -> None:
        for name, position in self._saving.reached.lanes.items():
            if name not in self._streams:
                self._streams[name] = self._open_stream(name, position, self._wakeup.ring)

    def _fill(self) -> bool:
        worked = False
        for stream in self._streams.values():
            for _ in range(_READS_IN_A_TICK):
                if not (self._delivery.wants_more and self._delivery.window.has_room):
                    return worked
                if not stream.tick(self._delivery.add):
                    break
                worked = True
            worked |= self._beat(stream)
        return worked

    def _beat(self, stream: Stream) -> bool:
        message = self._heartbeat.due(stream.name)
        if message is None:
            return False
        batch = OwnMessages((message,), stream.position)
        self._delivery.add(stream.name, batch, stream.position)
        self._metrics.heartbeats.inc()
        return True

    def _take_signals(self) -> bool:
        streams = {
            name: _Signalled(stream, self._delivery.add) for name, stream in self._streams.items()
        }
        return self._answering.apply(streams)

    def _save(self) -> None:
        self._saving.save(at_once=self._answering.is_waiting)
        self._answering.stored(self._saving.stored)

    def _advance(self) -> bool:
        """Notes how far streams are acknowledged."""
        moved = self._delivery.progress()
        for progress in moved:
            self._saving.reached = self._saving.reached.moved(progress.source, progress.position)
        return bool(moved)

    def _set_refused_aside(self) -> bool:
        """Keeps messages that the sink will never take elsewhere."""
        worked = False
        for refused in tuple(self._delivery.refused):
            topic, key, value, headers, _ = refused.message
            event = DeadLetter(topic, key, value or b"null", headers, refused.reason)
            if not self._aside.keep(event):
                break
            self._delivery.set_aside(refused)
            worked = True
        return worked

    def _start_again(self, error: SinkRestartError | RefusedError) -> None:
        """Everything that is not acknowledged is read and sent again."""
        self._sink.end(error)
        self._advance()
        self._delivery.forget()
        self._close_streams()
        self._answering.again()
        self._is_unsure = True

    def _close_streams(self) -> None:
        for stream in self._streams.values():
            stream.stop()
        for stream in self._streams.values():
            stream.close()
        self._streams = {}

    def _drain(self, stop: Stop) -> None:
        self._is_stopping = True
        drain(
            self._delivery,
            stop,
            self._wakeup,
            tick=self._last_tick,
            due_in_s=lambda: self._sink.due_in_s,
        )

    def _last_tick(self) -> bool:
        """A turn in which nothing is read."""
        worked = self._sink.tick(may_read=False, may_open=False)
        worked |= self._advance()
        worked |= self._set_refused_aside()
        self._save()
        self._publisher.moved()
        self._show()
        return worked

    def _close(self, deadline_s: float) -> None:
        try:
            self._sink.close(deadline_s)
            self._advance()
            self._saving.save_last()
            self._answering.stored(self._saving.stored)
        finally:
            self._show()
            if self._end_waits is not None:
                self._end_waits()
            self._close_streams()
            self._answering.cancel()
            self._wakeup.close()
        say_stopped(self._delivery)

    def _pause_s(self) -> float:
        """How long there is nothing to do."""
        due = [_LONGEST_PAUSE_S, self._sink.due_in_s]
        for due_in_s in (self._saving.due_in_s, self._aside.due_in_s, self._heartbeat.due_in_s):
            if due_in_s is not None:
                due.append(due_in_s)
        return max(0.0, min(due))

    def _show(self) -> None:
        self._publisher.show(
            self._streams,
            self._delivery,
            self._saving,
            self._aside,
            is_stopping=self._is_stopping,
        )


@dataclass(frozen=True, slots=True)
class _Signalled:
    """A stream with the way to the sink."""

    stream: Stream
    add: Add

    def apply(self, signal: Signal) -> SignalResult:
        answer = self.stream.copying.apply(signal)
        self.stream.place_progress(self.add)
        return answer
