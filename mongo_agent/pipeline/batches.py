"""Batches of messages with the position after them, heartbeats, and the latest message as text."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mongo_agent.change_stream.tokens import NO_EVENTS, UnreadableEventError, time_at, token_at
from mongo_agent.encoder import ChangeEvents, MongoBatch
from mongo_agent.offsets import StreamOffset
from sidecar.events import Message
from sidecar.events.message_batch import MessageBatch

_AGAIN_S = 1.0


class PlacedBatch:
    """Messages between two positions. Stream events have positions in between; a snapshot chunk has
    none, so it is acknowledged as a whole."""

    def __init__(
        self,
        batch: MongoBatch,
        before: StreamOffset,
        after: StreamOffset,
        events: ChangeEvents = NO_EVENTS,
    ) -> None:
        """`events` are the stream events of the messages; empty for a snapshot chunk."""
        self._batch = batch
        self._before = before
        self._after = after
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
            return self._after
        done = self._batch.position_after(messages) if self._events else 0
        # A damaged event has no position, so the position of the event before it applies.
        for events in range(done, 0, -1):
            with suppress(UnreadableEventError):
                token, time = token_at(self._events, events - 1), time_at(self._events, events - 1)
                stream = replace(self._after.stream, token=token, time=time)
                transaction = self._batch.transaction_after(events)
                return replace(self._after, stream=stream, transaction=transaction)
        return self._before


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


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """`text` is topic and key; `at_s` is the time in seconds since 1970."""

    text: str
    at_s: float


class LastMessage:
    """Remembers the latest batch, and reads its last message on request. Not thread-safe."""

    def __init__(self) -> None:
        self._batch: MongoBatch | None = None
        self._at_s = 0.0
        self._seen: MessageSummary | None = None

    def note(self, batch: MongoBatch) -> None:
        """Remember a batch, unless it has no messages."""
        if len(batch):
            self._batch, self._at_s = batch, time.time()

    @property
    def seen(self) -> MessageSummary | None:
        """The latest message, or None before the first."""
        if self._batch is not None:
            count = len(self._batch)
            ((topic, key, *_),) = self._batch.messages(count - 1, count)
            self._seen = MessageSummary(f"{topic} {key.decode(errors='replace')}", self._at_s)
            # The batch must not outlive its messages.
            self._batch = None
        return self._seen


def last_transaction(batch: MongoBatch) -> str | None:
    """Return the last transaction in a batch, or None if it has no transaction or messages contain
    no transaction metadata."""
    if not any(kind == "transaction" for _, kind in batch.counts):
        return None
    for events in range(batch.position_after(len(batch)), -1, -1):
        transaction = batch.transaction_after(events)
        if transaction is not None:
            return transaction.id
    return None


class Heartbeat:
    """Creates heartbeats when they are due. Not thread-safe."""

    def __init__(
        self, interval_ms: int, topic: str, encode: Callable[[int], tuple[bytes, bytes] | None]
    ) -> None:
        """`interval_ms` 0 disables heartbeats. `encode` encodes key and value for a time in
        milliseconds; it returns None while their schemas have no ids."""
        self._interval_s = interval_ms / 1000
        self._topic = topic
        self._encode = encode
        self._next_s: dict[str, float] = {}

    @property
    def due_in_s(self) -> float | None:
        """Seconds until the next heartbeat is due; None without heartbeats."""
        if not self._next_s:
            return None
        return max(0.0, min(self._next_s.values()) - time.monotonic())

    def due(self, stream: str) -> Message | None:
        """Return the heartbeat that is due for a stream, or None."""
        if not self._interval_s:
            return None
        now_s = time.monotonic()
        if now_s < self._next_s.setdefault(stream, now_s + self._interval_s):
            return None
        now_ms = int(time.time() * 1000)
        encoded = self._encode(now_ms)
        if encoded is None:
            self._next_s[stream] = now_s + _AGAIN_S
            return None
        self._next_s[stream] = now_s + self._interval_s
        headers = [("cdc.kind", b"heartbeat"), ("cdc.ts_us", str(now_ms * 1000).encode())]
        return (self._topic, *encoded, headers, 0)
