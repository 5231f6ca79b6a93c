"""A batch of events in plain Python, with positions at the ends of its mutations."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sidecar.events import Message, ProduceArguments

POSITION_STEP = 10


@dataclass(frozen=True)
class ListBatch:
    """`mutations` says how many events each mutation has; each moves the position by ten."""

    start: int
    mutations: tuple[int, ...]
    content: tuple[Message, ...] = field(default=())

    def __len__(self) -> int:
        return sum(self.mutations)

    @property
    def size_bytes(self) -> int:
        return sum(len(key) + len(value or b"") for _, key, value, _, _ in self.content) or 7 * len(
            self
        )

    @property
    def end(self) -> int:
        return self.start + POSITION_STEP * len(self.mutations)

    def position_after(self, events: int, /) -> int:
        if events == len(self):
            return self.end
        position, seen = self.start, 0
        for count in self.mutations:
            seen += count
            if seen > events:
                break
            position += POSITION_STEP
        return position

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        if self.content:
            return list(self.content[first:stop])
        return [message("topic", index, index) for index in range(first, stop)]

    def produce_arguments(
        self,
        first: int,
        stop: int,
        partitions: Callable[[str], int | None],
        on_delivery: Callable[..., None],
        /,
    ) -> Sequence[ProduceArguments]:
        return produce_arguments(self.messages(first, stop), partitions, on_delivery)

    def ndjson(self, first: int, stop: int, /) -> bytes:
        return b"".join(
            json.dumps(
                {"topic": topic, "key": json.loads(key), "value": json.loads(value or b"null")}
            ).encode()
            + b"\n"
            for topic, key, value, _, _ in self.messages(first, stop)
        )


class UndatedBatch(ListBatch):
    """Without write times, as a delivery asks for them."""

    last_write_ts_us: int | None = None


def message(topic: str, number: int, partition_hash: int, value_bytes: int = 0) -> Message:
    """Key and value are JSON and carry the number; the value has at least `value_bytes`."""
    value = json.dumps({"n": number, "fill": "x" * max(0, value_bytes - 24)}).encode()
    headers = [("cdc.id", number.to_bytes(16, "big")), ("cdc.kind", b"row")]
    return topic, json.dumps({"id": number}).encode(), value, headers, partition_hash


def batch_of(messages: Sequence[Message], start: int = 0) -> ListBatch:
    """One mutation for each message."""
    return ListBatch(start, (1,) * len(messages), tuple(messages))


def produce_arguments(
    messages: Sequence[Message],
    partitions: Callable[[str], int | None],
    on_delivery: Callable[..., None],
) -> list[ProduceArguments]:
    """What a batch makes of its messages for a Kafka client, one after the other. One whose key is
    empty has none, which compacted topics refuse."""
    arguments: list[ProduceArguments] = []
    counts: dict[str, int | None] = {}
    for topic, key, value, headers, partition_hash in messages:
        if topic not in counts:
            counts[topic] = partitions(topic)
        count = counts[topic]
        if count is None:
            break
        partition = partition_hash % count
        arguments.append((topic, value, key or None, partition, on_delivery, None, 0, headers))
    return arguments
