"""A base class for batches built in Python, which derives every other form from messages."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import orjson

from sidecar.events import Message, ProduceArguments


def shown(part: bytes) -> orjson.Fragment | str:
    """Return Avro as base64, a struct's text as a string, and JSON unchanged. The first byte
    decides: JSON begins with neither a zero byte nor `S`."""
    if part[:1] == b"\0":
        return base64.b64encode(part).decode()
    return part.decode(errors="replace") if part[:1] == b"S" else orjson.Fragment(part)


def header_texts(headers: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Return headers as text. `cdc.id`, the only binary header, becomes hexadecimal digits."""
    return {
        name: value.hex() if name == "cdc.id" else value.decode(errors="replace")
        for name, value in headers
    }


class MessageBatch(ABC):
    """Implements `DeliveryBatch` in part; subclasses implement the rest."""

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
