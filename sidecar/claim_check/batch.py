"""A batch whose oversized events are replaced by references."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from sidecar.events import DeliveryBatch, Message, ProduceArguments
from sidecar.events.message_batch import MessageBatch

PositionOf = TypeVar("PositionOf", covariant=True)


class ClaimCheckBatch(MessageBatch, Generic[PositionOf]):
    """The events of a batch. `next_oversized` finds them, `settle` sets their references."""

    def __init__(self, batch: DeliveryBatch[PositionOf]) -> None:
        self._batch = batch
        self._references: dict[int, Message] = {}
        self._oversized: deque[int] | None = None

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def size_bytes(self) -> int:
        """Size of the original batch."""
        return self._batch.size_bytes

    def position_after(self, events: int, /) -> PositionOf:
        return self._batch.position_after(events)

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        found = self._batch.messages(first, stop)
        if not self._references:
            return found
        return [self._references.get(first + at, message) for at, message in enumerate(found)]

    def produce_arguments(
        self,
        first: int,
        stop: int,
        partitions: Callable[[str], int | None],
        on_delivery: Callable[..., None],
        /,
    ) -> Sequence[ProduceArguments]:
        if self._references:
            return super().produce_arguments(first, stop, partitions, on_delivery)
        return self._batch.produce_arguments(first, stop, partitions, on_delivery)

    def ndjson(self, first: int, stop: int, /) -> bytes:
        if self._references:
            return super().ndjson(first, stop)
        return self._batch.ndjson(first, stop)

    def next_oversized(self, threshold_bytes: int) -> int | None:
        """Index of the next event whose key and value exceed the threshold; None without one."""
        if self._oversized is None:
            self._oversized = deque(self._batch.oversized(threshold_bytes))
        return self._oversized[0] if self._oversized else None

    def original(self, index: int) -> Message:
        """An event as it was read."""
        return self._batch.messages(index, index + 1)[0]

    def settle(self, index: int, reference: Message | None) -> None:
        """Replaces the next oversized event; None leaves it as it is."""
        assert self._oversized is not None
        self._oversized.remove(index)
        if reference is not None:
            self._references[index] = reference
