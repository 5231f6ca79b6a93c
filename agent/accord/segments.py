"""The segments of the journal, and the segments that the agent writes into `cdc_raw`.

The node allocates segments of the journal in the order of their timestamps, which are consecutive
from one start of the node to its next. It writes `.meta` after it has closed a segment, and deletes
a closed segment once it is compacted, the oldest first (`journal/Journal`, `journal/Compactor`). An
open file stays readable, so the agent opens each segment as soon as it sees it.

Segments in `cdc_raw` are written whole and with a completed index. Their ids are small numbers,
which no node uses: a node's ids begin at the time of its start in milliseconds. So they sort before
the node's segments and decide nothing about them.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw.names import SegmentName, temporary_of
from sidecar.files.directories import sync_directory, write_synced
from sidecar.files.regular import open_regular

_DATA = re.compile(r"log-([0-9]{1,19})-([0-9]{1,9})-([0-9]{1,9})-([0-9]{1,9})\.data")
_STARTED = "started"
_READ_VERSIONS = (1, 1)
_PREALLOCATED = 3
"""Segments that a node may have allocated when it writes the file `started`."""


@dataclass(frozen=True, slots=True, order=True)
class JournalSegment:
    """A file `log-<timestamp>-<generation>-<journal version>-<user version>.data`."""

    timestamp: int
    generation: int
    journal_version: int
    user_version: int

    def __str__(self) -> str:
        return f"{self._stem}.data"

    @property
    def metadata(self) -> str:
        """The file that the node writes when it has closed the segment."""
        return f"{self._stem}.meta"

    @property
    def is_supported(self) -> bool:
        return (self.journal_version, self.user_version) == _READ_VERSIONS

    @property
    def _stem(self) -> str:
        numbers = self.timestamp, self.generation, self.journal_version, self.user_version
        return "-".join(["log", *map(str, numbers)])


def parse_segment(file_name: str) -> JournalSegment | None:
    """The segment of a data file; None for every other name."""
    found = _DATA.fullmatch(file_name)
    return None if found is None else JournalSegment(*map(int, found.groups()))


@dataclass(frozen=True, slots=True)
class JournalFiles:
    segments: tuple[JournalSegment, ...] = ()
    """Oldest first."""
    closed: frozenset[JournalSegment] = frozenset()
    """Segments that get no further entries."""
    started: int | None = None
    """Timestamp of the segment that the node would have allocated next when it started."""

    def is_first_of_run(self, segment: JournalSegment) -> bool:
        """Whether the node may have allocated a segment first after its last start."""
        started = self.started
        return started is not None and started - _PREALLOCATED <= segment.timestamp <= started


def observe_journal(directory: Path) -> JournalFiles:
    """Observes the directory. Raises OSError when it cannot be listed."""
    names = {path.name for path in directory.iterdir()}
    segments = [found for name in names if (found := parse_segment(name)) is not None]
    try:
        started = (directory / _STARTED).read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        started = ""
    return JournalFiles(
        segments=tuple(sorted(segments)),
        closed=frozenset(each for each in segments if each.metadata in names),
        started=int(started) if started.isdigit() else None,
    )


class OpenSegments:
    """For one thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[JournalSegment, int] = {}

    @property
    def newest(self) -> JournalSegment | None:
        return max(self._files, default=None)

    def first_from(self, start: JournalSegment | None) -> JournalSegment | None:
        """The oldest open segment, from `start` on; None without one."""
        return min((each for each in self._files if start is None or each >= start), default=None)

    def after(self, segment: JournalSegment) -> JournalSegment | None:
        return min((each for each in self._files if each > segment), default=None)

    def open_new(self, files: JournalFiles, start: JournalSegment | None) -> list[JournalSegment]:
        """Opens the segments from `start` on that are not open; returns them, oldest first. Raises
        OSError."""
        opened = []
        for segment in files.segments:
            if segment in self._files or (start is not None and segment < start):
                continue
            try:
                file = open_regular(self._directory / str(segment), os.O_RDONLY)
            except FileNotFoundError:
                continue
            self._files[segment] = file
            opened.append(segment)
        return opened

    def is_deleted(self, segment: JournalSegment) -> bool:
        """Whether the node has deleted an open segment, so that it gets no further entries."""
        return os.fstat(self._files[segment]).st_nlink == 0

    def read(self, segment: JournalSegment, offset: int, length: int) -> bytes:
        """Raises OSError."""
        return os.pread(self._files[segment], length, offset)

    def close_before(self, segment: JournalSegment) -> None:
        for each in [each for each in self._files if each < segment]:
            os.close(self._files.pop(each))

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])


_VERSION = 9
_OWN_IDS = 1 << 40
"""A node that started after 2004 has larger ids."""
_RESERVED = 1000
"""Ids that are reserved at once, so that most segments cost no further write."""
_LAST_MARKER_BYTES = 8


def is_own(name: SegmentName) -> bool:
    """Whether the agent made a segment."""
    return name.id < _OWN_IDS


class RawSegments:
    """For one thread, that of the scans of `cdc_raw`: none sees a segment without its index."""

    def __init__(self, directory: Path, next_id: int, reserve: Callable[[int], None]) -> None:
        """`next_id` is the first unused id; `reserve` stores the one after those in use, durably,
        because the offsets remember the ids of finished segments."""
        self._directory = directory
        self._next_id = next_id
        self._reserve = reserve
        self.reserved = next_id
        """The first id that is not reserved."""

    def take(self) -> SegmentName:
        """An unused name. Raises what `reserve` raises."""
        if self._next_id >= self.reserved:
            self._reserve(self._next_id + _RESERVED)
            self.reserved = self._next_id + _RESERVED
        name = SegmentName(self._next_id, _VERSION)
        self._next_id += 1
        return name

    def write(self, name: SegmentName, segment: bytes) -> None:
        """Durable on return. Raises OSError."""
        end = len(segment) - _LAST_MARKER_BYTES
        index = f"{end}\nCOMPLETED".encode("ascii")
        for file_name, content in ((name.log, segment), (name.idx, index)):
            path = self._directory / file_name
            write_synced(temporary_of(path), content)
            temporary_of(path).replace(path)
        sync_directory(self._directory)
