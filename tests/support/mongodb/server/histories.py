"""The oplog as it is read, and the one that a router makes of those of all shards."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from bson import Timestamp

from tests.support.mongodb.server.oplog import Entry, Oplog


class History(Protocol):
    """Entries in order, each with a number; numbers have no gaps."""

    @property
    def oldest_number(self) -> int: ...
    @property
    def oldest_time(self) -> Timestamp: ...
    @property
    def time(self) -> Timestamp: ...
    @property
    def majority_end(self) -> int: ...
    @property
    def majority_time(self) -> Timestamp: ...
    def entry(self, number: int) -> Entry: ...
    def number_at(self, time: Timestamp) -> int: ...
    def is_on_majority(self, time: Timestamp) -> bool: ...
    def entries(self) -> Iterator[Entry]: ...


@dataclass
class MergedHistory:
    """The oplogs of all shards in order of time, up to where every shard has said what it has.

    A shard that is silent holds all back, until a no-op of it comes. Entries of one time are parts
    of one transaction, or no-ops: here they are one entry.
    """

    shards: Sequence[Oplog]
    _entries: list[Entry] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)

    @property
    def oldest_number(self) -> int:
        return self.number_at(self.oldest_time)

    @property
    def oldest_time(self) -> Timestamp:
        return max(shard.oldest_time for shard in self.shards)

    @property
    def time(self) -> Timestamp:
        return max(shard.time for shard in self.shards)

    @property
    def majority_end(self) -> int:
        self._merge()
        return len(self._entries)

    @property
    def majority_time(self) -> Timestamp:
        return min(shard.majority_time for shard in self.shards)

    def entry(self, number: int) -> Entry:
        return self._entries[number]

    def number_at(self, time: Timestamp) -> int:
        self._merge()
        return bisect_left(self._entries, time, key=lambda each: each.time)

    def is_on_majority(self, time: Timestamp) -> bool:
        return all(shard.is_on_majority(time) for shard in self.shards)

    def entries(self) -> Iterator[Entry]:
        self._merge()
        return iter(self._entries)

    def _merge(self) -> None:
        self._numbers += [0] * (len(self.shards) - len(self._numbers))
        limit = self.majority_time
        new: dict[Timestamp, list[Entry]] = {}
        for index, shard in enumerate(self.shards):
            number = max(self._numbers[index], shard.oldest_number)
            while number < shard.majority_end and shard.entry(number).time <= limit:
                entry = shard.entry(number)
                new.setdefault(entry.time, []).append(entry)
                number += 1
            self._numbers[index] = number
        self._entries += [_joined(new[time]) for time in sorted(new)]


def _joined(entries: Sequence[Entry]) -> Entry:
    """Entries of one time as one. The changes keep their numbers on their shards."""
    with_changes = [entry for entry in entries if entry.changes] or entries[:1]
    first = with_changes[0]
    changes = [change for entry in with_changes for change in entry.changes]
    indexes = [index for entry in with_changes for index in entry.indexes]
    return replace(first, changes=tuple(changes), numbers=tuple(indexes))
