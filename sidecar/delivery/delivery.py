"""Sends batches to the sink, and tracks them until the sink acknowledges them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol

from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.delivery.dead_letter_topic import DeadLetterTopic
from sidecar.delivery.window import Progress, Window
from sidecar.errors import SidecarError
from sidecar.events import DeliveryBatch, NumberedBatch, Position, PositionOf, Source
from sidecar.metrics import DeliveryMetrics
from sidecar.sinks.base import (
    CLOSED,
    DEAD_LETTERS_WAITING,
    NOT_OPEN,
    DeliveryResult,
    Outcome,
    Sink,
    SinkState,
)
from sidecar.tracing.open_telemetry import TRACEPARENT, BatchTrace, Tracing
from sidecar.transform import Transform, TransformedBatch, header_added

# Long enough for a topic's first metadata request, short enough not to delay the loop's other work.
_SEND_DEADLINE_S = 1.0
# Reads run ahead, so that the next batch is ready when one has been sent.
_MOST_UNSENT_BATCHES = 2


class DatedBatch(DeliveryBatch[PositionOf], Protocol[PositionOf]):
    """A batch that knows the write time of its last change."""

    @property
    def last_write_ts_us(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class _Span(Generic[Source, Position]):
    """The origin of the events of a batch."""

    first: int
    stop: int
    source: Source
    start: Position
    end: Position
    last_write_ts_us: int | None
    trace: BatchTrace | None = None


class Delivery(Generic[Source, Position]):
    """Sends batches in order and accepts acknowledgements in any order. Not thread-safe.

    `send`, `poll` and `close` raise the sink's errors. After `SinkRestartError`, call `forget` and
    `open`, then read and send all unacknowledged events again.
    """

    def __init__(
        self,
        sink: Sink,
        max_events: int,
        max_bytes: int,
        *,
        metrics: DeliveryMetrics,
        clock: Callable[[], float],
        transform: Transform | None = None,
        dead_letter_topic: DeadLetterTopic | None = None,
        tracing: Tracing | None = None,
        read_max_events: int = 1,
        read_max_bytes: int = 1,
    ) -> None:
        """`clock` returns seconds. `transform` applies to every event except in plain batches.

        A read adds at most `read_max_events` and `read_max_bytes`, unless one event is larger."""
        self._sink = sink
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._read_max_events = read_max_events
        self._read_max_bytes = read_max_bytes
        self._metrics = metrics
        self._clock = clock
        self._transform = transform
        self._tracing = tracing
        self._dead_letter_topic = dead_letter_topic
        self.window: Window[Source, Position] = self._new_window(0)
        self._unsent: deque[tuple[NumberedBatch[Source, Position], int]] = deque()
        self._spans: deque[_Span[Source, Position]] = deque()
        self.rejected: list[RejectedEvent[Source, Position]] = []
        """Rejected events that are not stored as dead letters yet."""
        self.is_open = False
        self.closed_state = NOT_OPEN
        """The state of the sink while it is closed."""
        self.last_acknowledged_write_ts_us: int | None = None

    @property
    def sink_state(self) -> SinkState:
        if not self.is_open:
            return self.closed_state
        state = self._sink.state()
        topic = self._dead_letter_topic
        waits = None if topic is None else topic.state
        if waits is not None and (state.healthy or state.code == DEAD_LETTERS_WAITING):
            return replace(waits, healthy=state.healthy and self.has_room)
        if not (state.healthy and state.topics) or self.has_room:
            return state
        return replace(
            state,
            healthy=False,
            message=f"{state.message}. It is full now: {self.window.unacknowledged} events wait",
        )

    @property
    def is_idle(self) -> bool:
        """True when every event in the window is acknowledged."""
        return self.window.unacknowledged == 0

    @property
    def wants_more(self) -> bool:
        """Whether the send queue is short enough for the next read to begin."""
        return len(self._unsent) <= _MOST_UNSENT_BATCHES

    @property
    def has_room(self) -> bool:
        """Whether the next read fits into the window. If not, waiting events of one topic block
        the events of all topics."""
        return self.fits(self._read_max_events, self._read_max_bytes)

    def fits(self, events: int, size_bytes: int) -> bool:
        room_events, room_bytes = self.window.room
        return room_events >= events and room_bytes >= size_bytes

    def open(self) -> None:
        try:
            self._sink.open()
        except SidecarError:
            self._sink.close(0.0)
            raise
        self.is_open = True

    def add(
        self,
        source: Source,
        batch: DatedBatch[Position],
        start: Position,
        *,
        is_plain: bool = False,
    ) -> None:
        """Adds a batch, which may be empty, that was read from position `start`. A plain batch
        bypasses the user's transform."""
        trace = None
        sent: DeliveryBatch[Position] = batch
        if self._transform is not None and not is_plain:
            sent = TransformedBatch(sent, self._transform)
        if self._tracing is not None and len(batch):
            end = batch.position_after(len(batch))
            trace = self._tracing.begin(str(source), len(batch), start, end)
            sent = TransformedBatch(sent, header_added(TRACEPARENT, trace.traceparent))
        numbered = self.window.add(source, sent)
        self._unsent.append((numbered, 0))
        if len(batch):
            self._spans.append(
                _Span(
                    numbered.first,
                    numbered.stop,
                    source,
                    start,
                    batch.position_after(len(batch)),
                    batch.last_write_ts_us,
                    trace,
                )
            )

    def send(self) -> bool:
        """Sends as much of the next batch as the sink accepts. Returns whether it accepted any.

        Sends one batch per call, so that the next read can begin as soon as a batch is sent.
        """
        if not self._unsent:
            return False
        numbered, start = self._unsent[0]
        taken = self._sink.send(numbered, start, _SEND_DEADLINE_S)
        self._metrics.events_sent.inc(taken)
        if start + taken < len(numbered.batch):
            self._unsent[0] = (numbered, start + taken)
        else:
            self._unsent.popleft()
        return taken > 0 or not len(numbered.batch)

    def poll(self, timeout_s: float = 0.0) -> bool:
        """Records results that arrive within the timeout. Returns whether any arrived."""
        return self._note(self._sink.poll(timeout_s))

    def dead_letter(self, rejected: RejectedEvent[Source, Position]) -> None:
        """Marks a rejected event as done, after it was stored as a dead letter."""
        self.rejected.remove(rejected)
        if self._dead_letter_topic is not None:
            match self._dead_letter_topic.discard(rejected.number):
                case Outcome.ACKNOWLEDGED:
                    self._metrics.dead_letter_topic_events.inc()
                case Outcome.REJECTED:
                    self._metrics.dead_letter_topic_failures.inc()
        self._sink.dead_letter(rejected.number)
        self.window.acknowledge((range(rejected.number, rejected.number + 1),))
        self._drop_spans()

    def publish_dead_letter(self, rejected: RejectedEvent[Source, Position]) -> Outcome:
        """Sends a rejected event to the dead-letter topic, and marks it as done once the topic
        acknowledges it. Returns `REJECTED` if the topic is missing or unusable, or rejects it."""
        if self._dead_letter_topic is None:
            return Outcome.REJECTED
        outcome = self._dead_letter_topic.keep(rejected)
        if outcome is Outcome.ACKNOWLEDGED:
            self.dead_letter(rejected)
        return outcome

    def progress(self) -> list[Progress[Source, Position]]:
        """Sources whose acknowledged position advanced."""
        return self.window.progress()

    def close(self, deadline_s: float) -> None:
        """Closes the sink and records its final results."""
        self.closed_state = CLOSED
        if self.is_open:
            self.is_open = False
            if self._dead_letter_topic is not None:
                self._dead_letter_topic.close(0.0)
            self._note(self._sink.close(deadline_s))

    def forget(self) -> None:
        """Empties the window. The caller must read unacknowledged events again."""
        self.window = self._new_window(self.window.next_number)
        self._unsent.clear()
        for span in self._spans:
            if span.trace is not None:
                span.trace.end(is_acknowledged=False)
        self._spans.clear()
        self.rejected.clear()
        if self._dead_letter_topic is not None:
            self._dead_letter_topic.forget()

    def _new_window(self, first_number: int) -> Window[Source, Position]:
        return Window(
            self._max_events, self._max_bytes, first_number=first_number, clock=self._clock
        )

    def _note(self, outcome: DeliveryResult) -> bool:
        if outcome.acknowledged:
            self.window.acknowledge(outcome.acknowledged)
            self._metrics.events_acknowledged.inc(sum(map(len, outcome.acknowledged)))
        for failure in outcome.failed:
            number = failure.number
            span = next(each for each in self._spans if each.first <= number < each.stop)
            message = self.window.message(number)
            self.rejected.append(
                RejectedEvent(number, span.source, span.start, span.end, message, failure.reason)
            )
            self._metrics.events_failed.inc()
        self._drop_spans()
        return bool(outcome.acknowledged or outcome.failed)

    def _drop_spans(self) -> None:
        while self._spans and self._spans[0].stop <= self.window.watermark:
            span = self._spans.popleft()
            if span.trace is not None:
                span.trace.end(is_acknowledged=True)
            if span.last_write_ts_us is not None:
                self.last_acknowledged_write_ts_us = span.last_write_ts_us
