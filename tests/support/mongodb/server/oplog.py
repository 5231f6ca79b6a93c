"""The replicated log: what changed, when, and up to where a majority has it.

Every other part derives from it: collections are it applied, change streams are it read. One entry
has one cluster time; a transaction is one entry of several changes.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from bson import Timestamp, encode

from tests.support.mongodb.server.wire import Document

Namespace = tuple[str, str]


@dataclass(frozen=True)
class Change:
    """One change of a document or of the catalogue.

    `operation` is the `operationType` of change streams. `before` and `after` are whole documents.
    `state_before` are the options before a `modify`; a change of a view has `is_view`.
    `shard_key` are the fields by which a sharded collection spreads the document, `shard` is the
    number of the shard that has it, and `place` its key in the store. `update` is
    `updateDescription`. `has_images` says that the collection keeps images.
    """

    operation: str
    database: str
    collection: str = ""
    uuid: UUID | None = None
    document_id: Any = None
    before: Document | None = None
    after: Document | None = None
    shard_key: Document = field(default_factory=dict)
    shard: int = 0
    place: bytes = b""
    update: Mapping[str, Any] | None = None
    to: Namespace | None = None
    description: Mapping[str, Any] | None = None
    state_before: Mapping[str, Any] | None = None
    is_view: bool = False
    has_images: bool = False

    @property
    def namespace(self) -> Namespace:
        return self.database, self.collection

    @property
    def document_key(self) -> Document:
        """As change streams report it: with the shard key first."""
        return {**self.shard_key, "_id": self.document_id}

    @property
    def is_of_document(self) -> bool:
        return self.operation in ("insert", "update", "replace", "delete")


@dataclass(frozen=True)
class Entry:
    """Changes with one cluster time; none of them is a no-op. `transaction` is (lsid, number).
    `is_prepared`: it has parts on other shards."""

    time: Timestamp
    wall_time: datetime
    changes: tuple[Change, ...]
    transaction: tuple[Document, int] | None = None
    numbers: tuple[int, ...] | None = None
    is_prepared: bool = False

    @property
    def weight(self) -> int:
        """The bytes of its documents."""
        return sum(len(encode(each.after)) for each in self.changes if each.after is not None)

    @property
    def indexes(self) -> tuple[int, ...]:
        """The place of each change in its entry on its shard."""
        return tuple(range(len(self.changes))) if self.numbers is None else self.numbers


def next_time(after: Timestamp, now_s: int) -> Timestamp:
    """The cluster time of the next entry: the wall clock, never backwards."""
    return Timestamp(now_s, 1) if now_s > after.time else Timestamp(after.time, after.inc + 1)


class Clock:
    """Cluster times, each greater than those before. All shards of a cluster have one clock."""

    def __init__(self) -> None:
        self._last = Timestamp(0, 0)
        self.ahead_s = 0
        self.wall_ahead_ms = 0

    def wall_time(self) -> datetime:
        """That of the primary, in UTC and whole milliseconds; an election may set it back."""
        now = datetime.now(UTC) + timedelta(milliseconds=self.wall_ahead_ms)
        return now.replace(microsecond=now.microsecond // 1000 * 1000, tzinfo=None)

    def count_from(self, time_s: int) -> None:
        """Later times are counted from this one, which is in the future, and not by the wall."""
        self._last = Timestamp(time_s, 0)

    def continue_after(self, time: Timestamp) -> None:
        """Later times are greater than this one."""
        self._last = max(self._last, time)

    def tick(self) -> Timestamp:
        now_s = int(datetime.now(UTC).timestamp()) + self.ahead_s + self.wall_ahead_ms // 1000
        self._last = next_time(self._last, now_s)
        return self._last


class Oplog:
    """Entries in order. Numbers of entries are never used twice, also after `truncate`."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._first_number = 0
        self._entries: list[Entry] = []
        self._stalled_at: int | None = None
        # The oldest entries go when documents in the log weigh more; None: never.
        self.most_bytes: int | None = None
        self._bytes = 0
        self.append(())

    @property
    def end(self) -> int:
        """The number of the next entry."""
        return self._first_number + len(self._entries)

    @property
    def majority_end(self) -> int:
        """Entries with a smaller number are on a majority of members."""
        return self.end if self._stalled_at is None else self._stalled_at

    @property
    def time(self) -> Timestamp:
        return self._entries[-1].time

    @property
    def majority_time(self) -> Timestamp:
        return self._entries[max(self.majority_end - 1 - self._first_number, 0)].time

    @property
    def oldest_time(self) -> Timestamp:
        return self._entries[0].time

    @property
    def oldest_number(self) -> int:
        return self._first_number

    def append(
        self,
        changes: tuple[Change, ...],
        transaction: tuple[Document, int] | None = None,
        time: Timestamp | None = None,
        *,
        is_prepared: bool = False,
    ) -> Entry:
        """A new entry at the next time, or at one that the clock gave for it."""
        entry = Entry(
            time or self._clock.tick(),
            self._clock.wall_time(),
            changes,
            transaction,
            is_prepared=is_prepared,
        )
        self._entries.append(entry)
        if self.most_bytes is not None:
            self._cap(entry, self.most_bytes)
        return entry

    def _cap(self, entry: Entry, most_bytes: int) -> None:
        self._bytes += entry.weight
        while self._bytes > most_bytes and self._first_number + 1 < self.majority_end:
            self._bytes -= self._entries.pop(0).weight
            self._first_number += 1

    def restore(self, entries: Sequence[Entry]) -> None:
        """Begin with the entries of a server that ran before."""
        if entries:
            self._entries = list(entries)
            self._clock.continue_after(self.time)

    def entry(self, number: int) -> Entry:
        return self._entries[number - self._first_number]

    def number_at(self, time: Timestamp) -> int:
        """The number of the first entry at or after `time`."""
        return self._first_number + bisect_left(self._entries, time, key=lambda each: each.time)

    def is_on_majority(self, time: Timestamp) -> bool:
        """Whether a majority has everything up to `time`."""
        return self.majority_end == self.end or self.entry(self.majority_end).time > time

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries)

    def truncate(self) -> None:
        """Forget everything but the last entry."""
        kept = max(min(self.majority_end, self.end) - 1, self._first_number)
        self._entries = self._entries[kept - self._first_number :]
        self._first_number = kept

    def drop_images(self) -> None:
        """Forget the images of all changes, but not the changes."""
        self._entries = [
            replace(entry, changes=tuple(replace(each, has_images=False) for each in entry.changes))
            for entry in self._entries
        ]

    def stall_majority(self) -> None:
        """Entries from here on stay without a majority."""
        if self._stalled_at is None:
            self._stalled_at = self.end

    def restore_majority(self) -> None:
        self._stalled_at = None
