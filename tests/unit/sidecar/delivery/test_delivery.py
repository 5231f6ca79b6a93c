"""The sink's state as a delivery with a dead-letter topic reports it."""

from collections.abc import Callable

import pytest

from sidecar.delivery.delivery import Delivery
from sidecar.metrics import DeliveryMetrics
from sidecar.sinks.base import (
    DEAD_LETTERS_WAITING,
    DeliveryResult,
    FailedEvent,
    Outcome,
    SinkState,
)
from sidecar.sinks.kafka.dead_letter_topic import DeadLetterTopic
from tests.support.segments.batches import UndatedBatch, message
from tests.support.sinks.memory_sink import MemorySink

OWN = SinkState(False, "not yet recorded", code=DEAD_LETTERS_WAITING)
AWAY = SinkState(False, "no Kafka broker answers")


class StatedSink(MemorySink):
    """A sink in memory that accepts nothing, with the state that a test sets."""

    shown = SinkState(True, "")

    def state(self) -> SinkState:
        return self.shown

    def poll(self, timeout_s: float) -> DeliveryResult:
        return DeliveryResult()


class RejectingSink(StatedSink):
    """Rejects the first event."""

    def poll(self, timeout_s: float) -> DeliveryResult:
        return DeliveryResult(failed=(FailedEvent(0, "too large"),))


@pytest.fixture
def make() -> Callable[[int], tuple[Delivery[str, int], StatedSink]]:
    def create(max_events: int) -> tuple[Delivery[str, int], StatedSink]:
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

    return create


Make = Callable[[int], tuple[Delivery[str, int], StatedSink]]


@pytest.mark.parametrize(
    ("max_events", "own", "is_healthy"),
    [(100, SinkState(True, ""), True), (1, SinkState(True, ""), False), (100, OWN, False)],
    ids=["with room", "full window", "transaction"],
)
def test_waiting_dead_letters_are_named_with_their_cause(
    make: Make, max_events: int, own: SinkState, is_healthy: bool
) -> None:
    delivery, sink = make(max_events)
    sink.shown = own
    state = delivery.sink_state
    assert (state.healthy, state.code) == (is_healthy, DEAD_LETTERS_WAITING)
    assert state.message.endswith("the dead-letter topic dlq: no Kafka broker answers")


def test_an_unavailable_sink_is_the_cause_that_is_reported(make: Make) -> None:
    delivery, sink = make(100)
    sink.shown = AWAY
    assert delivery.sink_state == AWAY
