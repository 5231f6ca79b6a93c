"""Batches of serialized events, which readers pass to a sink."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Message = tuple[str, bytes, bytes | None, list[tuple[str, bytes]], int]
"""Topic, key, value (None: a tombstone), headers, partition hash (31 bits: the partition is
hash % partitions)."""

ProduceArguments = tuple[
    str, bytes | None, bytes | None, int, Callable[..., None], None, int, list[tuple[str, bytes]]
]
"""The positional arguments of `confluent_kafka.Producer.produce`: topic, value, key, partition,
callback, `on_delivery` (its alias; always None), timestamp (0: the time of the call), headers."""

Source = TypeVar("Source")
"""The owner of a position: a segment, a change stream."""
Position = TypeVar("Position")
PositionOf = TypeVar("PositionOf", covariant=True)


class DeliveryBatch(Protocol[PositionOf]):
    """Immutable events 0 … len-1 of one source as bytes, with the position after them.

    An empty batch may still advance the position, because its records produced no events.
    """

    def __len__(self) -> int: ...
    @property
    def size_bytes(self) -> int:
        """Size of all keys and values."""

    def position_after(self, events: int, /) -> PositionOf:
        """Returns the position to resume from when the first `events` events are acknowledged.

        Reading can only resume at a boundary, so the position may be before the end of those
        events; for `len(batch)` it is the end of the batch.
        """

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        """Returns events first … stop-1."""

    def produce_arguments(
        self,
        first: int,
        stop: int,
        partitions: Callable[[str], int | None],
        on_delivery: Callable[..., None],
        /,
    ) -> Sequence[ProduceArguments]:
        """Returns arguments for a Kafka client, and creates fewer objects than `messages`.

        `partitions` returns the number of partitions of a topic. The list ends before the first
        event of a topic for which it returns None.
        """

    def ndjson(self, first: int, stop: int, /) -> bytes:
        """Returns events first … stop-1 as lines of JSON, each terminated by a line feed."""


@dataclass(frozen=True, slots=True)
class NumberedBatch(Generic[Source, Position]):
    """A batch whose events have the numbers first … stop-1."""

    source: Source
    batch: DeliveryBatch[Position]
    first: int

    @property
    def stop(self) -> int:
        return self.first + len(self.batch)
