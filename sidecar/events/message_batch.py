"""The accesses to a batch that follow from its messages, for batches made in Python."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import orjson

from sidecar.events import Message, ProduceArguments
from sidecar.events.ndjson import header_texts, shown


class MessageBatch(ABC):
    """See `DeliveryBatch`, which subclasses implement."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def messages(self, first: int, stop: int, /) -> Sequence[Message]: ...

    def produce_arguments(
        self,
        first: int,
        stop: int,
        partitions: Callable[[str], int | None],
        on_delivery: Callable[..., None],
        /,
    ) -> Sequence[ProduceArguments]:
        counts: dict[str, int | None] = {}
        ready: list[ProduceArguments] = []
        for topic, key, value, headers, partition_hash in self.messages(first, stop):
            if topic not in counts:
                counts[topic] = partitions(topic)
            count = counts[topic]
            if count is None:
                break
            place = partition_hash % count
            ready.append((topic, value, key, place, on_delivery, None, 0, headers))
        return ready

    def ndjson(self, first: int, stop: int, /) -> bytes:
        return b"".join(
            orjson.dumps(
                {
                    "topic": topic,
                    "key": shown(key),
                    "value": shown(value or b"null"),
                    "headers": header_texts(headers),
                },
                option=orjson.OPT_APPEND_NEWLINE,
            )
            for topic, key, value, headers, _ in self.messages(first, stop)
        )
