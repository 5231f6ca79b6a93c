"""The dead-letter topic: what it sends, when an event counts as done, and what a file takes."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from sidecar.errors import AccessDeniedError, SinkRestartError
from sidecar.events import Message, NumberedBatch
from sidecar.sinks.base import DeliveryResult, FailedEvent, Outcome, SinkState
from sidecar.sinks.kafka.dead_letter_topic import DeadLetterTopic

MESSAGE: Message = ("shop.orders", b"key", b"value", [("cdc.id", b"\1")], 7)


@dataclass
class ScriptedSink:
    """Keeps what it gets; the test says what it reports."""

    sent: list[tuple[int, Message]] = field(default_factory=list)
    report: DeliveryResult = field(default_factory=DeliveryResult)
    error: Exception | None = None
    opened: int = 0
    shown: SinkState = field(default_factory=lambda: SinkState(True, ""))

    def open(self) -> None:
        self.opened += 1

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        self.sent += [(numbered.first, message) for message in numbered.batch.messages(start, 1)]
        return 1

    def poll(self, timeout_s: float) -> DeliveryResult:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        report, self.report = self.report, DeliveryResult()
        return report

    def dead_letter(self, number: int) -> None: ...

    def state(self) -> SinkState:
        return self.shown

    def close(self, deadline_s: float) -> DeliveryResult:
        return DeliveryResult()


@dataclass(frozen=True)
class Rejected:
    number: int = 5
    source: object = "CommitLog-7-1"
    message: Message = MESSAGE
    reason: str = "Kafka rejects its 9 bytes: Broker: Message size too large"
    start: int = 10
    end: int = 90


@pytest.fixture
def sink() -> ScriptedSink:
    return ScriptedSink()


@pytest.fixture
def topic(sink: ScriptedSink) -> DeadLetterTopic:
    times = iter(range(1000))
    return DeadLetterTopic("dlq", sink, connector="shop", clock=lambda: float(next(times)))


def test_event_is_done_when_the_topic_has_acknowledged_it(
    topic: DeadLetterTopic, sink: ScriptedSink
) -> None:
    assert sink.opened == 0, "no client without a dead letter"
    assert topic.keep(Rejected()) is Outcome.WAITING
    assert topic.keep(Rejected()) is Outcome.WAITING
    sink.report = DeliveryResult(acknowledged=(range(5, 6),))
    assert topic.keep(Rejected()) is Outcome.ACKNOWLEDGED
    assert topic.discard(5) is Outcome.ACKNOWLEDGED
    assert len(sink.sent) == 1


def test_message_has_key_value_and_context(topic: DeadLetterTopic, sink: ScriptedSink) -> None:
    topic.keep(Rejected())
    ((_, (name, key, value, headers, place)),) = sink.sent
    assert (name, key, value, place) == ("dlq", b"key", b"value", 7)
    found = dict(headers)
    assert found["cdc.id"] == b"\1"
    assert found["__connect.errors.topic"] == b"shop.orders"
    assert found["__connect.errors.exception.class.name"].endswith(b"RecordTooLargeException")
    assert found["__connect.errors.exception.message"] == Rejected().reason.encode()
    assert found["cdc.dead.letter.source"] == b"CommitLog-7-1"
    assert found["cdc.dead.letter.position"] == b"10-90"


def test_context_can_be_left_out(sink: ScriptedSink) -> None:
    DeadLetterTopic("dlq", sink, connector="shop", has_context=False).keep(Rejected())
    assert sink.sent[0][1][3] == MESSAGE[3]


def test_event_that_the_topic_rejects_stays_rejected_until_it_is_stored(
    topic: DeadLetterTopic, sink: ScriptedSink, caplog: pytest.LogCaptureFixture
) -> None:
    topic.keep(Rejected())
    sink.report = DeliveryResult(failed=(FailedEvent(5, "too large for me"),))
    assert topic.keep(Rejected()) is Outcome.REJECTED
    assert topic.keep(Rejected()) is Outcome.REJECTED
    assert len(sink.sent) == 1
    sent, rejected = caplog.messages
    assert sent == (
        f"The sink rejected an event for the topic shop.orders: {Rejected().reason}. The agent "
        "sends it to the dead-letter topic dlq."
    )
    assert rejected == (
        "The dead-letter topic dlq rejects an event, so the agent stores it in a file: too large "
        "for me."
    )
    assert topic.discard(5) is Outcome.REJECTED


def test_missing_topic_and_denied_login_reject(topic: DeadLetterTopic, sink: ScriptedSink) -> None:
    sink.error = AccessDeniedError("no")
    assert topic.keep(Rejected(4)) is Outcome.REJECTED
    sink.shown = SinkState(False, "the topic dlq does not exist", ("dlq",), "topic_missing")
    assert topic.keep(Rejected()) is Outcome.REJECTED


def test_lost_event_is_sent_again(topic: DeadLetterTopic, sink: ScriptedSink) -> None:
    sink.error = SinkRestartError("events were lost")
    assert topic.keep(Rejected()) is Outcome.WAITING
    while len(sink.sent) < 2:
        assert topic.keep(Rejected()) is Outcome.WAITING
    assert sink.opened == 2
    sink.report = DeliveryResult(acknowledged=(range(5, 6),))
    assert topic.keep(Rejected()) is Outcome.ACKNOWLEDGED


def test_unavailable_broker_is_waited_for_and_shown(
    topic: DeadLetterTopic, sink: ScriptedSink
) -> None:
    assert not topic.state
    sink.shown = SinkState(False, "no Kafka broker answers")
    assert topic.keep(Rejected()) is Outcome.WAITING
    state = topic.state
    assert state is not None
    assert (state.healthy, state.topics, state.code) == (True, ("dlq",), "dead_letters_waiting")
    assert state.message == (
        "rejected events wait for the dead-letter topic dlq: no Kafka broker answers"
    )
    assert "errors.deadletterqueue.topic.name" in state.remedy
    topic.forget()
    assert topic.state is None
