"""Batches of messages with the position after them: of a stream, of a snapshot, of the agent."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mongo_agent.change_stream.events import NO_EVENTS, UnreadableEventError, time_at, token_at
from mongo_agent.change_stream.reader import StreamBatch
from mongo_agent.encoder import ChangeEvents, MongoBatch
from mongo_agent.offsets import StreamOffset
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.events import Message
from sidecar.events.message_batch import MessageBatch


class PlacedBatch:
    """Messages between two positions. There is no position in between, so they are acknowledged
    as a whole."""

    def __init__(
        self,
        batch: MongoBatch,
        before: StreamOffset,
        behind: StreamOffset,
        events: ChangeEvents = NO_EVENTS,
    ) -> None:
        """`events` are the events of a stream that gave the messages."""
        self._batch = batch
        self._before = before
        self._behind = behind
        self._events = events
        self.size_bytes = batch.size_bytes
        self.last_write_ts_us = batch.last_write_ts_us
        self.messages = batch.messages
        self.produce_arguments = batch.produce_arguments
        self.ndjson = batch.ndjson

    def __len__(self) -> int:
        return len(self._batch)

    def position_after(self, messages: int, /) -> StreamOffset:
        if messages == len(self._batch):
            return self._behind
        done = self._batch.position_after(messages) if self._events else 0
        # An event with damaged bytes has no place of its own; the events before it have.
        for events in range(done, 0, -1):
            with suppress(UnreadableEventError):
                return self._position_after_events(events)
        return self._before

    def _position_after_events(self, events: int) -> StreamOffset:
        token, time = token_at(self._events, events - 1), time_at(self._events, events - 1)
        stream = replace(self._behind.stream, token=token, time=time)
        transaction = self._batch.transaction_after(events)
        return replace(self._behind, stream=stream, transaction=transaction)


def of_read(
    read: StreamBatch, before: StreamOffset, copies: SnapshotProgress, *, moves: bool
) -> PlacedBatch:
    """`copies` is the progress of snapshots after it; with `moves` the position advances."""
    stream = read.position if moves else before.stream
    behind = StreamOffset(stream, read.transaction, copies)
    return PlacedBatch(read.batch, before, behind, read.events)


@dataclass(frozen=True, slots=True)
class OwnMessages(MessageBatch):
    """Messages of the agent itself, such as heartbeats. They do not advance the position."""

    content: tuple[Message, ...]
    position: StreamOffset
    last_write_ts_us: int | None = None

    def __len__(self) -> int:
        return len(self.content)

    @property
    def size_bytes(self) -> int:
        return sum(len(key) + len(value or b"") for _, key, value, _, _ in self.content)

    def position_after(self, messages: int, /) -> StreamOffset:
        return self.position

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        return self.content[first:stop]
