"""The dead-letter topic: its messages, completion of events, and the fallback to a file."""

import pytest

from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.delivery.dead_letter_topic import DeadLetterTopic
from sidecar.errors import AccessDeniedError, SinkRestartError
from sidecar.events import Message
from sidecar.sinks.base import Outcome, SinkState
from tests.support.sinks.memory_sink import MemorySink

MESSAGE: Message = ("shop.orders", b"key", b"value", [("cdc.id", b"\1")], 7)
REASON = "Kafka rejects its 9 bytes: Broker: Message size too large"


def event(number: int = 5) -> RejectedEvent[str, int]:
    return RejectedEvent(number, "CommitLog-7-1", 10, 90, MESSAGE, REASON)


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink(automatic=False)


@pytest.fixture
def topic(sink: MemorySink) -> DeadLetterTopic:
    times = iter(range(1000))
    return DeadLetterTopic("dlq", sink, connector="shop", clock=lambda: float(next(times)))


def test_rejected_event_completes_once_dead_letter_is_acknowledged(
    topic: DeadLetterTopic, sink: MemorySink
) -> None:
    assert not sink.is_open, "no client without a dead letter"
    assert topic.keep(event()) is Outcome.WAITING
    assert topic.keep(event()) is Outcome.WAITING
    sink.acknowledge()
    assert topic.keep(event()) is Outcome.ACKNOWLEDGED
    assert topic.discard(5) is Outcome.ACKNOWLEDGED
    assert len(sink.messages) == 1


def test_dead_letter_contains_key_value_and_context(
    topic: DeadLetterTopic, sink: MemorySink
) -> None:
    topic.keep(event())
    ((_, (name, key, value, headers, place)),) = sink.messages
    assert (name, key, value, place) == ("dlq", b"key", b"value", 7)
    found = dict(headers)
    assert found["cdc.id"] == b"\1"
    assert found["__connect.errors.topic"] == b"shop.orders"
    assert found["__connect.errors.exception.class.name"].endswith(b"RecordTooLargeException")
    assert found["__connect.errors.exception.message"] == REASON.encode()
    assert found["cdc.dead.letter.source"] == b"CommitLog-7-1"
    assert found["cdc.dead.letter.position"] == b"10-90"


def test_dead_letter_context_can_be_omitted(sink: MemorySink) -> None:
    DeadLetterTopic("dlq", sink, connector="shop", has_context=False).keep(event())
    assert sink.messages[0][1][3] == MESSAGE[3]


def test_event_rejected_by_dead_letter_topic_remains_rejected(
    topic: DeadLetterTopic, sink: MemorySink, caplog: pytest.LogCaptureFixture
) -> None:
    topic.keep(event())
    sink.fail(5, "too large for me")
    assert topic.keep(event()) is Outcome.REJECTED
    assert topic.keep(event()) is Outcome.REJECTED
    assert len(sink.messages) == 1
    sent, rejected = caplog.messages
    assert sent == (
        f"The sink rejected an event for the topic shop.orders: {REASON}. The agent "
        "sends it to the dead-letter topic dlq."
    )
    assert rejected == (
        "The dead-letter topic dlq rejects an event, so the agent stores it in a file: too large "
        "for me."
    )
    assert topic.discard(5) is Outcome.REJECTED


def test_missing_topic_and_denied_login_reject_dead_letters(
    topic: DeadLetterTopic, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.raise_next(AccessDeniedError("no"))
    assert topic.keep(event(4)) is Outcome.REJECTED
    missing = SinkState(False, "the topic dlq does not exist", ("dlq",), "topic_missing")
    monkeypatch.setattr(sink, "state", lambda: missing)
    while not sink.messages:
        outcome = topic.keep(event())
    assert outcome is Outcome.REJECTED


def test_lost_dead_letter_is_resent(topic: DeadLetterTopic, sink: MemorySink) -> None:
    topic.keep(event())
    sink.raise_next(SinkRestartError("events were lost"))
    while len(sink.messages) < 2:
        assert topic.keep(event()) is Outcome.WAITING
    sink.acknowledge()
    assert topic.keep(event()) is Outcome.ACKNOWLEDGED


def test_dead_letter_waits_for_unavailable_broker(topic: DeadLetterTopic, sink: MemorySink) -> None:
    assert not topic.state
    topic.keep(event())
    sink.go_away("no Kafka broker answers")
    assert topic.keep(event()) is Outcome.WAITING
    state = topic.state
    assert state is not None
    assert (state.healthy, state.topics, state.code) == (True, ("dlq",), "dead_letters_waiting")
    assert state.message == (
        "rejected events wait for the dead-letter topic dlq: no Kafka broker answers"
    )
    assert "errors.deadletterqueue.topic.name" in state.remedy
    topic.forget()
    assert topic.state is None
