"""A pipeline in small: sends batches, polls, starts the sink again when it asks for that, and
compares what arrived."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence

from sidecar.delivery.window import Window
from sidecar.errors import SinkRestartError
from sidecar.events import Message
from sidecar.sinks.base import DeliveryResult
from sidecar.sinks.kafka.sink import KafkaSink
from tests.support.segments.batches import batch_of
from tests.support.servers.kafka import KafkaBroker, KafkaRecord
from tests.support.servers.processes import wait_until

MAX_RESTARTS = 50


def incompressible(topic: str, number: int, size_bytes: int) -> Message:
    return topic, b"%d" % number, os.urandom(size_bytes), [], number


class Delivery:
    """Delivers messages through a sink and keeps what became of each."""

    def __init__(self, sink: KafkaSink, messages: Sequence[Message]) -> None:
        self.sink = sink
        self.messages = messages
        self.failed: dict[int, str] = {}
        self.restarts: list[str] = []
        self.answered = 0
        self._send_all_from(0)

    def run(self, on_step: Callable[["Delivery"], None] = lambda delivery: None) -> None:
        """Until every message is acknowledged or has failed alone."""

        def is_done() -> bool:
            on_step(self)
            return self.answered == len(self.messages)

        self.until(is_done, "all events to be acknowledged")

    def reach(self, answered: int) -> None:
        """Until so many of the first messages are acknowledged."""
        self.until(lambda: self.answered >= answered, f"{answered} messages")

    def until(
        self, condition: Callable[[], bool], what: str, state: Callable[[], object] | None = None
    ) -> None:
        """Step until the condition holds; an error shows `state()`."""

        def holds() -> bool:
            self.step()
            return condition()

        wait_until(holds, what, state=state or (lambda: (self.sink.state(), self.answered)))

    def step(self, timeout_s: float = 0.05) -> None:
        """One turn of a pipeline's loop."""
        try:
            if self.sent < len(self._numbered.batch):
                self.sent += self.sink.send(self._numbered, self.sent, 1.0)
            self._take(self.sink.poll(timeout_s))
        except SinkRestartError as error:
            self.restarts.append(str(error))
            assert len(self.restarts) <= MAX_RESTARTS, self.restarts
            self._take(self.sink.close(5.0))
            self.sink.open()
            self._send_all_from(self.answered)

    def _send_all_from(self, index: int) -> None:
        self._start = index
        self._window: Window[str, int] = Window(len(self.messages) + 1, 1 << 40)
        self._numbered = self._window.add("a", batch_of(self.messages[index:]))
        self.sent = 0

    def _take(self, outcome: DeliveryResult) -> None:
        self._window.acknowledge(outcome.acknowledged)
        self._window.acknowledge(range(f.number, f.number + 1) for f in outcome.failed)
        self.failed |= {self._start + f.number: f.reason for f in outcome.failed}
        self.answered = self._start + self._window.watermark


class Sending:
    """Messages sent bit by bit, and what was acknowledged."""

    def __init__(self, sink: KafkaSink, messages: list[Message]) -> None:
        self.sink = sink
        self.messages = messages
        self.acknowledged: list[int] = []
        self.sent = 0
        self._numbered = Window[str, int](len(messages) + 1, 1 << 40).add("a", batch_of(messages))

    def send_some(self, deadline_s: float = 0.0) -> int:
        """How many were taken. A new producer asks for the partitions first, which takes time."""
        taken = self.sink.send(self._numbered, self.sent, deadline_s)
        self.sent += taken
        return taken

    def finish(self) -> None:
        def is_done() -> bool:
            if self.sent < len(self.messages):
                self.send_some(1.0)
            outcome = self.sink.poll(0.05)
            assert outcome.failed == ()
            self.acknowledged += [number for run in outcome.acknowledged for number in run]
            return len(self.acknowledged) >= len(self.messages)

        wait_until(is_done, "all events to be acknowledged")


def made_small(broker: KafkaBroker, sink: KafkaSink, topic: str) -> None:
    """By an event without key, which a compacted topic does not take; batches are 4 kB then."""
    broker.create_topic(topic, 1)
    broker.create_topic(f"{topic}-keys", 1, {"cleanup.policy": "compact"})
    delivery = Delivery(sink, [(f"{topic}-keys", b"", os.urandom(5000), [], 0)])
    delivery.run()
    assert list(delivery.failed) == [0]
    Delivery(sink, [incompressible(topic, 0, 1)]).run()


def assert_arrived(
    messages: Sequence[Message], records: Sequence[KafkaRecord], counts: dict[str, int]
) -> None:
    """Exactly these messages, each in its partition, each partition in their order."""
    expected, found = defaultdict(list), defaultdict(list)
    for topic, key, value, headers, partition_hash in messages:
        place = (topic, partition_hash % counts[topic])
        expected[place].append((key, value, tuple(headers)))
    for each in records:
        found[each.topic, each.partition].append((each.key, each.value, each.headers))
    assert found == expected
