"""Topics whose events the client or the broker rejects temporarily."""

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st

from sidecar.events import NumberedBatch
from sidecar.sinks.kafka.client import ClientOptions
from sidecar.sinks.kafka.sink import KafkaSink
from tests.support.segments.batches import batch_of, message
from tests.support.sinks.kafka_sinks import delivery_report

TOPICS = ("closed", "open", "sometimes")
CODES = st.sampled_from(
    [
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    ]
)


class FakeProducer:
    """Rejects events of the topics in `closed`, in `produce` or in the delivery report."""

    def __init__(self, capacity: int) -> None:
        self.closed: dict[str, int] = {}
        self.written: dict[str, list[bytes]] = {topic: [] for topic in TOPICS}
        self._capacity = capacity
        self._queue: deque[tuple[Any, Callable[..., None]]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes,
        _partition: int,
        on_delivery: Callable[..., None],
        *_: object,
    ) -> None:
        if topic in self.closed:
            raise KafkaException(KafkaError(self.closed[topic]))
        if len(self._queue) == self._capacity:
            raise BufferError
        self._queue.append((delivery_report(topic, key, value), on_delivery))

    def poll(self, reports: int) -> None:
        for _ in range(min(reports, len(self._queue))):
            report, on_delivery = self._queue.popleft()
            code = self.closed.get(report.topic())
            if code is None:
                self.written[report.topic()].append(report.value())
            on_delivery(None if code is None else KafkaError(code), report)


@given(st.data())
def test_rejected_topic_does_not_delay_other_topics(data: st.DataObject) -> None:
    topics = data.draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=40))
    batch = batch_of([message(topic, number, number) for number, topic in enumerate(topics)])
    numbered: NumberedBatch[Any, Any] = NumberedBatch("s", batch, 1000)
    producer = FakeProducer(data.draw(st.integers(1, 30)))
    now_s = [0.0]
    sink = KafkaSink(ClientOptions({"bootstrap.servers": "localhost:9"}), clock=lambda: now_s[0])
    reports = [lambda: data.draw(st.integers(0, 10))]
    nothing = {"events_sent": lambda: None, "acknowledged": lambda waiting: None}
    # The broker has every topic; `poll` returns as many reports as drawn.
    client: Any = SimpleNamespace(
        **{"missing": {}, "options": ClientOptions({}), "liveness": SimpleNamespace(**nothing)},
        **{"producer": lambda: producer, "partition_count": lambda topic, timeout_s: 3},
        **{"forget_topic": lambda topic: None, "probe_if_due": lambda: None},
        poll=lambda timeout_s: producer.poll(reports[0]()),
    )
    sink.client = client
    acknowledged: list[int] = []
    sent = 0

    def advance() -> None:
        nonlocal sent
        if sent < len(topics):
            sent += sink.send(numbered, sent, 1.0)
        result = sink.poll(0)
        assert result.failed == ()
        acknowledged.extend(number for run in result.acknowledged for number in run)
        now_s[0] += data.draw(st.sampled_from([0.0, 1.0, 40.0]))

    def expected(but: str = "") -> list[int]:
        return [1000 + number for number, topic in enumerate(topics) if topic != but]

    for _ in range(data.draw(st.integers(0, 20))):
        producer.closed["closed"] = data.draw(CODES)
        producer.closed.pop("sometimes", None)
        if data.draw(st.booleans()):
            producer.closed["sometimes"] = data.draw(CODES)
        advance()
    reports[0] = lambda: 10
    producer.closed.pop("sometimes", None)
    for _ in range(60):
        advance()
        now_s[0] += 40
    if "closed" in producer.closed:
        assert sorted(acknowledged) == expected(but="closed")
        assert not producer.written["closed"]
        assert set(sink._waiting.names) <= {"closed"}
    producer.closed.clear()
    for _ in range(60):
        advance()
        now_s[0] += 40
    assert sorted(acknowledged) == expected()
    for topic in TOPICS:
        events = [
            numbered.batch.messages(0, len(topics))[n][2]
            for n, t in enumerate(topics)
            if t == topic
        ]
        assert list(reversed(dict.fromkeys(reversed(producer.written[topic])))) == events
