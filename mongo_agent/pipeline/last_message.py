"""The last message of a stream or a snapshot, as text."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from mongo_agent.encoder import MongoBatch


@dataclass(frozen=True, slots=True)
class MessageSummary:
    """`text` is topic and key; `at_s` is the time in seconds since 1970."""

    text: str
    at_s: float


class LastMessage:
    """Notes batches, and reads the last message only on request. For one thread."""

    def __init__(self, *, wall_clock: Callable[[], float] = time.time) -> None:
        """`wall_clock` gives seconds since 1970."""
        self._wall_clock = wall_clock
        self._batch: MongoBatch | None = None
        self._at_s = 0.0
        self._seen: MessageSummary | None = None

    def note(self, batch: MongoBatch) -> None:
        """Notes a batch; one without messages changes nothing."""
        if len(batch):
            self._batch, self._at_s = batch, self._wall_clock()

    @property
    def seen(self) -> MessageSummary | None:
        """None before the first message."""
        if self._batch is not None:
            count = len(self._batch)
            ((topic, key, *_),) = self._batch.messages(count - 1, count)
            self._seen = MessageSummary(f"{topic} {key.decode(errors='replace')}", self._at_s)
            # The batch must not outlive its messages.
            self._batch = None
        return self._seen


def last_transaction(batch: MongoBatch) -> str | None:
    """The last transaction in a batch; None without one, and when messages carry no transaction
    metadata."""
    if not any(kind == "transaction" for _, kind in batch.counts):
        return None
    for events in range(batch.position_after(len(batch)), -1, -1):
        transaction = batch.transaction_after(events)
        if transaction is not None:
            return transaction.id
    return None
