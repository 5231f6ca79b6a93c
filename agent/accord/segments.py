"""Reads segments of the Accord journal, and writes segments to `cdc_raw`.

The node allocates journal segments in timestamp order; the timestamps are consecutive until it
restarts. After closing a segment, it writes the `.meta` file. It deletes closed segments after
compaction, oldest first (`journal/Journal`, `journal/Compactor`). An open file stays readable, so
the agent opens each segment as soon as it sees the file.

The agent writes complete segments with completed indexes to `cdc_raw`. Their ids are small numbers
that no node uses: a node's ids start at its start time in milliseconds. So these segments sort
before the node's segments and imply nothing about them.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.cdc_raw.names import SegmentName
from sidecar.files.directories import replace_synced, sync_directory
from sidecar.files.regular import open_regular

_DATA = re.compile(r"log-([0-9]{1,19})-([0-9]{1,9})-([0-9]{1,9})-([0-9]{1,9})\.data")
_STARTED = "started"
_READ_VERSIONS = (1, 1)
_PREALLOCATED = 3
"""How many segments a node may have allocated when it writes the file `started`."""


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
        """Name of the file that the node writes after it closes the segment."""
        return f"{self._stem}.meta"

    @property
    def is_supported(self) -> bool:
        return (self.journal_version, self.user_version) == _READ_VERSIONS

    @property
    def _stem(self) -> str:
        numbers = self.timestamp, self.generation, self.journal_version, self.user_version
        return "-".join(["log", *map(str, numbers)])


def parse_segment(file_name: str) -> JournalSegment | None:
    """Parses the name of a data file; returns None for any other name."""
    found = _DATA.fullmatch(file_name)
    return None if found is None else JournalSegment(*map(int, found.groups()))


@dataclass(frozen=True, slots=True)
class JournalFiles:
    segments: tuple[JournalSegment, ...] = ()
    """Oldest first."""
    closed: frozenset[JournalSegment] = frozenset()
    """Segments that receive no further entries."""
    started: int | None = None
    """Timestamp of the next segment that the node was to allocate when it started."""

    def is_first_of_run(self, segment: JournalSegment) -> bool:
        """Whether the segment may be the first that the node allocated after its latest start."""
        started = self.started
        return started is not None and started - _PREALLOCATED <= segment.timestamp <= started


def observe_journal(directory: Path) -> JournalFiles:
    """Lists the journal directory. Raises OSError if it cannot be read."""
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
    """Journal segments that the agent keeps open. Not thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[JournalSegment, int] = {}

    @property
    def newest(self) -> JournalSegment | None:
        return max(self._files, default=None)

    def first_from(self, start: JournalSegment | None) -> JournalSegment | None:
        """The oldest open segment at or after `start`, or None."""
        return min((each for each in self._files if start is None or each >= start), default=None)

    def after(self, segment: JournalSegment) -> JournalSegment | None:
        return min((each for each in self._files if each > segment), default=None)

    def open_new(self, files: JournalFiles, start: JournalSegment | None) -> list[JournalSegment]:
        """Opens further segments at or after `start`; returns them, oldest first. Raises
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
        """Whether the node has deleted an open segment, which then receives no further entries."""
        return os.fstat(self._files[segment]).st_nlink == 0

    def read(self, segment: JournalSegment, offset: int, length: int) -> bytes:
        """Reads bytes of an open segment. Raises OSError."""
        return os.pread(self._files[segment], length, offset)

    def close_before(self, segment: JournalSegment) -> None:
        for each in [each for each in self._files if each < segment]:
            os.close(self._files.pop(each))

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])


_VERSION = 9
_OWN_IDS = 1 << 40
"""A node that started after 2004 uses larger ids."""
_RESERVED = 1000
"""Number of ids per reservation, so that most segments need no extra write."""
_LAST_MARKER_BYTES = 8


def is_own(name: SegmentName) -> bool:
    """Whether the agent, not the node, wrote the segment."""
    return name.id < _OWN_IDS


class RawSegments:
    """Writes segments to `cdc_raw`. Only the thread that scans `cdc_raw` may use it."""

    def __init__(self, directory: Path, next_id: int, reserve: Callable[[int], None]) -> None:
        """`next_id` is the first unused id. `reserve` durably stores the first unreserved id, so
        that no id of a finished segment is used again."""
        self._directory = directory
        self._next_id = next_id
        self._reserve = reserve
        self.reserved = next_id
        """The first id that is not reserved."""

    def take(self) -> SegmentName:
        """Returns an unused name. Raises the errors of `reserve`."""
        if self._next_id >= self.reserved:
            self._reserve(self._next_id + _RESERVED)
            self.reserved = self._next_id + _RESERVED
        name = SegmentName(self._next_id, _VERSION)
        self._next_id += 1
        return name

    def write(self, name: SegmentName, segment: bytes) -> None:
        """Writes a segment and its index durably. Raises OSError."""
        end = len(segment) - _LAST_MARKER_BYTES
        index = f"{end}\nCOMPLETED".encode("ascii")
        for file_name, content in ((name.log, segment), (name.idx, index)):
            path = self._directory / file_name
            replace_synced(path, content)
        sync_directory(self._directory)
