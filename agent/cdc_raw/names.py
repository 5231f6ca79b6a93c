"""File names in `cdc_raw` (format notes §1.1), and a set of segment names ordered by age."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from operator import attrgetter
from pathlib import Path

# Digits are limited because int() raises ValueError beyond 4,300 digits, and a remote store can
# contain an object with such a name.
_FILE = re.compile(r"CommitLog-(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,18})(?:\.log|_cdc\.idx)")
_MAX_VERSION = (1 << 31) - 1
_MAX_ID = (1 << 63) - 1


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """A segment, ordered by id, then by version."""

    id: int
    version: int

    @property
    def log(self) -> str:
        return f"CommitLog-{self.version}-{self.id}.log"

    @property
    def idx(self) -> str:
        return f"CommitLog-{self.version}-{self.id}_cdc.idx"

    def __str__(self) -> str:
        return self.log


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """The paths of a segment in a directory; iterates over both."""

    directory: Path
    name: SegmentName

    @property
    def log(self) -> Path:
        return self.directory / self.name.log

    @property
    def idx(self) -> Path:
        return self.directory / self.name.idx

    def __iter__(self) -> Iterator[Path]:
        return iter((self.log, self.idx))


by_age: Callable[[SegmentName], tuple[int, int]] = attrgetter("id", "version")
"""Sort key for names: the same order as comparing the names, but many times faster."""


def parse_log_name(file_name: str) -> SegmentName | None:
    """Parses the name of a `.log` file; returns None for other names, including the legacy form
    without a version."""
    return parse_file_name(file_name) if file_name.endswith(".log") else None


def parse_file_name(file_name: str) -> SegmentName | None:
    """Parses the name of a `.log` or `_cdc.idx` file; returns None for other names."""
    found = _FILE.fullmatch(file_name)
    if found is None:
        return None
    version, segment_id = int(found[1]), int(found[2])
    if version > _MAX_VERSION or segment_id > _MAX_ID:
        return None
    return SegmentName(id=segment_id, version=version)


def is_temporary(file_name: str) -> bool:
    """Whether `temporary_of` returns this name for a segment or an index."""
    inner = file_name.removeprefix(".").removesuffix(".tmp")
    return file_name == f".{inner}.tmp" and parse_file_name(inner) is not None


def shown_name(file_name: str) -> str:
    """Escapes invalid UTF-8 and unprintable characters, so that any user's file name is safe to
    print."""
    text = os.fsencode(file_name).decode(errors="backslashreplace")
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


_MIN_SPARE = 64


class OldestFirst:
    """A set of names that tracks the oldest. A removed name stays in the heap until it becomes the
    oldest, or until about half of the heap consists of removed names."""

    def __init__(self) -> None:
        self._members: set[SegmentName] = set()
        self._heap: list[tuple[tuple[int, int], SegmentName]] = []
        self._queued: set[SegmentName] = set()

    def __len__(self) -> int:
        return len(self._members)

    def put(self, name: SegmentName, *, is_member: bool) -> None:
        if not is_member:
            self._members.discard(name)
        elif name not in self._members:
            self._members.add(name)
            if name not in self._queued:
                self._queued.add(name)
                heappush(self._heap, (by_age(name), name))

    @property
    def oldest(self) -> SegmentName | None:
        if len(self._heap) > 2 * len(self._members) + _MIN_SPARE:
            self._heap = [(by_age(name), name) for name in self._members]
            heapify(self._heap)
            self._queued = set(self._members)
        while self._heap:
            name = self._heap[0][1]
            if name in self._members:
                return name
            heappop(self._heap)
            self._queued.discard(name)
        return None
