"""The sink's state as a delivery with a dead-letter topic reports it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.delivery.dead_letter_topic import DeadLetterTopic
from sidecar.delivery.delivery import Delivery
from sidecar.metrics import DeliveryMetrics
from sidecar.sinks.base import DEAD_LETTERS_WAITING, DeliveryResult, FailedEvent, Outcome, SinkState
from tests.support.segments.batches import UndatedBatch, message
from tests.support.sinks.memory_sink import MemorySink

OWN = SinkState(False, "not yet recorded", code=DEAD_LETTERS_WAITING)
AWAY = SinkState(False, "no Kafka broker answers")


class StatedSink(MemorySink):
    """An in-memory sink with a settable state that acknowledges no event."""

    shown = SinkState(True, "")

    def state(self) -> SinkState:
        return self.shown

    def poll(self, timeout_s: float) -> DeliveryResult:
        return DeliveryResult()


class RejectingSink(StatedSink):
    """Rejects the first event."""

    def poll(self, timeout_s: float) -> DeliveryResult:
        return DeliveryResult(failed=(FailedEvent(0, "too large"),))


def rejecting(max_events: int) -> tuple[Delivery[str, int], StatedSink]:
    """Create a delivery whose first event waits for the dead-letter topic."""
    dead_letters = StatedSink()
    dead_letters.shown = AWAY
    sink = RejectingSink()
    delivery: Delivery[str, int] = Delivery(
        sink,
        max_events,
        1 << 20,
        metrics=DeliveryMetrics("agent", "1"),
        clock=lambda: 0.0,
        dead_letter_topic=DeadLetterTopic("dlq", dead_letters, connector="shop"),
    )
    delivery.open()
    delivery.add("a", UndatedBatch(0, (1,), (message("t", 0, 0),)), 0)
    assert delivery.send()
    assert delivery.poll()
    (rejected,) = delivery.rejected
    assert delivery.publish_dead_letter(rejected) is Outcome.WAITING
    return delivery, sink


@pytest.mark.parametrize(
    ("max_events", "own", "is_healthy"),
    [(100, SinkState(True, ""), True), (1, SinkState(True, ""), False), (100, OWN, False)],
    ids=["with room", "full window", "transaction"],
)
def test_waiting_dead_letters_are_reported_with_their_cause(
    max_events: int, own: SinkState, is_healthy: bool
) -> None:
    delivery, sink = rejecting(max_events)
    sink.shown = own
    state = delivery.sink_state
    assert (state.healthy, state.code) == (is_healthy, DEAD_LETTERS_WAITING)
    assert state.message.endswith("the dead-letter topic dlq: no Kafka broker answers")


@pytest.mark.parametrize("max_events", [1, 100])
@pytest.mark.parametrize("own", [AWAY, SinkState(False, "no topic", ("t",), "topic_missing")])
def test_unavailable_sink_takes_precedence_over_dead_letters(
    max_events: int, own: SinkState
) -> None:
    delivery, sink = rejecting(max_events)
    sink.shown = own
    assert delivery.sink_state == own


@given(
    events=st.lists(st.integers(1, 400), max_size=20),
    reads=st.tuples(st.integers(1, 8), st.integers(1, 1000)),
    window=st.tuples(st.integers(8, 20), st.integers(1000, 4000)),
)
def test_sink_is_unhealthy_once_next_read_does_not_fit(
    events: list[int], reads: tuple[int, int], window: tuple[int, int]
) -> None:
    """All events belong to a missing topic; reading stops before the window is full."""
    sink = StatedSink()
    sink.shown = SinkState(True, "the topic t is missing", ("t",), "topic_missing")
    delivery: Delivery[str, int] = Delivery(
        sink,
        *window,
        metrics=DeliveryMetrics("agent", "1"),
        clock=lambda: 0.0,
        read_max_events=reads[0],
        read_max_bytes=reads[1],
    )
    delivery.open()
    used = 0
    for position, size in enumerate(events):
        assert delivery.sink_state.healthy == delivery.has_room
        if not delivery.has_room:
            break
        batch = UndatedBatch(position, (1,), (message("t", position, 0, size),))
        delivery.add("a", batch, position)
        used += batch.size_bytes
        fits = window[0] - position - 1 >= reads[0] and window[1] - used >= reads[1]
        assert delivery.has_room == fits
    assert delivery.sink_state.healthy == delivery.has_room
