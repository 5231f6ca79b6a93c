"""The journal's directory, observed once as a frozen value.

The node allocates segments in the order of their timestamps, which are consecutive from one start
of the node to its next. It writes `.meta` after it has closed a segment, and deletes a closed
segment once it is compacted, the oldest first (`journal/Journal`, `journal/Compactor`).
"""

import re
from dataclasses import dataclass
from pathlib import Path

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
