"""The open files of the journal.

The node deletes segments whenever it has compacted them. An open file stays readable, so the agent
opens each segment as soon as it sees it.
"""

import os
from pathlib import Path

from agent.accord.journal_files import JournalFiles, JournalSegment
from sidecar.files.regular import open_regular


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
