"""A pipeline in small whose position is stored by its sink; as a program, one to be killed."""

import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from sidecar.delivery.window import Window
from sidecar.errors import SinkRestartError, UnavailableError
from sidecar.events import Message, NumberedBatch
from sidecar.offsets.position_store import PositionRecords
from sidecar.sinks.base import DeliveryResult
from sidecar.sinks.kafka.client import ClientOptions
from sidecar.sinks.kafka.transactions.contents import CommitRule
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from tests.support.segments.batches import POSITION_STEP, ListBatch, message
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S, wait_until

Mutation = Sequence[Message]
"""Messages that are done together or not at all."""

COMPACTED = {"cleanup.policy": "compact"}
"""As a topic of positions is."""

MAX_RESTARTS = 50


def position_values(source: str, position: int) -> Mapping[str, str]:
    return {"position" if source == "a" else f"{source}/position": str(position)}


def records(topic: str, name: str) -> PositionRecords:
    return PositionRecords(topic, name, position_values)


def with_positions(
    broker: KafkaBroker, topic: str, config: Mapping[str, str] | None = None
) -> PositionRecords:
    """Creates a topic and its topic of positions."""
    broker.create_topic(topic, 1, config)
    broker.create_topic(f"{topic}-positions", 1, COMPACTED)
    return records(f"{topic}-positions", "shop")


def single(topic: str, count: int, value_bytes: int = 0) -> list[Mutation]:
    return [[message(topic, number, number, value_bytes)] for number in range(count)]


def contents(mutations: Sequence[Mutation]) -> list[tuple[bytes, bytes | None]]:
    return [(key, value) for mutation in mutations for _, key, value, _, _ in mutation]


def arrived(broker: KafkaBroker, *topics: str) -> list[tuple[bytes | None, bytes | None]]:
    """Records that a read-committed consumer receives."""
    return [(record.key, record.value) for record in broker.consume_all(*topics)]


def stored(broker: KafkaBroker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    return arrived(broker, topic)


def position(value: int) -> bytes:
    return b'{"a":{"position":"%d"}}' % value


class Source:
    """Mutations, read in batches from a position on."""

    def __init__(self, mutations: Sequence[Mutation], batch_mutations: int = 20) -> None:
        self.mutations = mutations
        self._batch_mutations = batch_mutations

    @property
    def end(self) -> int:
        return POSITION_STEP * len(self.mutations)

    def read(self, position: int) -> ListBatch | None:
        first = position // POSITION_STEP
        chosen = self.mutations[first : first + self._batch_mutations]
        if not chosen:
            return None
        messages = tuple(itertools.chain.from_iterable(chosen))
        return ListBatch(position, tuple(map(len, chosen)), messages)


class ExactDelivery:
    """From the stored position to the end of the source."""

    def __init__(
        self,
        sink: TransactionalKafkaSink,
        source: Source,
        *,
        stores_rejected: Callable[[], bool] = lambda: True,
    ) -> None:
        """The sink is open. Refused events are set aside while `stores_rejected`."""
        self.sink = sink
        self.source = source
        self.failed: dict[bytes, str] = {}
        self.restarts: list[str] = []
        self._stores_rejected = stores_rejected
        self._begin()

    @property
    def is_done(self) -> bool:
        return self.done == self.source.end and not self.sink.has_work

    def run(self) -> None:
        """Until all of it is stored."""
        self.until(lambda: self.is_done, "the end of the source")

    def reach(self, position: int) -> None:
        """Until this position is stored."""
        self.until(lambda: self.done >= position, f"position {position}")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        def holds() -> bool:
            self.step()
            return condition()

        wait_until(holds, what)

    def step(self, timeout_s: float = 0.02) -> None:
        try:
            self._read()
            self._send()
            self._take(self.sink.poll(timeout_s))
        except SinkRestartError as error:
            self.restarts.append(str(error))
            assert len(self.restarts) <= MAX_RESTARTS, self.restarts
            self.sink.close(0)
            self.sink.open()
            self._begin()

    def _begin(self) -> None:
        self.done = int(self._load().get("position", 0))
        self._read_to = self.done
        self._window: Window[str, int] = Window(2000, 1 << 40)
        self._unsent: deque[tuple[NumberedBatch[str, int], int]] = deque()
        self._refused: list[int] = []

    def _load(self) -> Mapping[str, str]:
        """A broker that does not answer in time is asked again, as a service does it."""
        until_s = time.monotonic() + DEADLINE_S
        while True:
            try:
                return self.sink.load().values
            except UnavailableError:
                if time.monotonic() > until_s:
                    raise

    def _read(self) -> None:
        while min(self._window.room) > 0:
            batch = self.source.read(self._read_to)
            if batch is None:
                return
            self._read_to = batch.end
            self._unsent.append((self._window.add("a", batch), 0))

    def _send(self) -> None:
        while self._unsent:
            numbered, start = self._unsent[0]
            start += self.sink.send(numbered, start, 1.0)
            if start < len(numbered.batch):
                self._unsent[0] = (numbered, start)
                break
            self._unsent.popleft()

    def _take(self, outcome: DeliveryResult) -> None:
        self._window.acknowledge(outcome.acknowledged)
        for failure in outcome.failed:
            key = self._window.message(failure.number)[1]
            self.failed[key] = failure.reason
            self._refused.append(failure.number)
        while self._refused and self._stores_rejected():
            number = self._refused.pop()
            self._window.acknowledge((range(number, number + 1),))
            self.sink.dead_letter(number)
        for progress in self._window.progress():
            self.done = progress.position


def two_topics(count: int) -> list[Mutation]:
    """Mutations of one to three messages, over two topics."""
    topics = ("exact-a", "exact-b")
    numbers = itertools.count()
    sizes = itertools.islice(itertools.cycle((1, 2, 3, 1)), count)
    return [
        [message(topics[index % 2], number, number) for number in itertools.islice(numbers, size)]
        for index, size in enumerate(sizes)
    ]


def main(bootstrap: str, count: str) -> None:
    """Delivers, and writes the position that is reached after each step, a line each."""
    sink = TransactionalKafkaSink(
        ClientOptions({"bootstrap.servers": bootstrap}),
        records("exact-positions", "killed"),
        CommitRule(interval_s=0.02, position_interval_s=0.02, max_events=50),
    )
    sink.open()
    delivery = ExactDelivery(sink, Source(two_topics(int(count))))
    while not delivery.is_done:
        delivery.step(0.005)
        print(delivery.done, flush=True)
    sink.close(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
