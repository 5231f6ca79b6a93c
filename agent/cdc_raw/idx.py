"""What a `_cdc.idx` file says (format notes §7.3).

The node rewrites it by truncation and one write, so a reader can meet an empty file: no news. The
number beside COMPLETED is the logical end of the segment where the node closed it
(`CommitLogSegment#sync`), and the length of the file where the node replayed it after a crash
(`CommitLogReplayer#handleCDCReplayCompletion`).
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sidecar.files.regular import open_regular

# An offset has at most ten digits, and "COMPLETED" follows on the second line.
_MAX_IDX_BYTES = 64

# Java's int: no segment is larger.
_MAX_OFFSET = (1 << 31) - 1

_CONTENT = re.compile(rb"([0-9]{1,10})(\n(?:COMPLETED\n?)?)?")


@dataclass(frozen=True, slots=True)
class Idx:
    """News of an index: an offset, or that the segment is complete, or none of both."""

    offset: int | None = None
    """Logical; sections that end at or before it are durable. None: no news, or COMPLETED."""
    completed: bool = False
    completed_at: int | None = None
    """The number beside COMPLETED."""
    unreadable: str | None = None
    """What stands there instead, for the operator; None where all is well."""

    @property
    def has_update(self) -> bool:
        """True where the node has said that the segment holds CDC data."""
        return self.completed or self.offset is not None

    def synced_end(self, file_bytes: int | None) -> int:
        """The logical position up to which the node has synced the segment, as far as the index
        proves it; 0 for no proof. `file_bytes` is the length of the segment's file, None when it is
        not known.

        A number beside COMPLETED that is the file's length proves nothing: a replay wrote it, and
        the log of a preallocated file ends earlier.
        """
        if self.completed_at is not None and file_bytes not in (None, self.completed_at):
            return self.completed_at
        return self.offset or 0


NO_UPDATE = Idx()


def parse_idx(content: bytes) -> Idx:
    """Reads the content of an index file. Never raises: what cannot be understood is no news, and
    `unreadable` shows it."""
    if not content:
        return NO_UPDATE
    found = _CONTENT.fullmatch(content)
    if found is None or int(found[1]) > _MAX_OFFSET:
        return Idx(unreadable=repr(content[:_MAX_IDX_BYTES])[1:])
    offset = int(found[1])
    if found[2] and b"COMPLETED" in found[2]:
        return Idx(completed=True, completed_at=offset)
    return Idx(offset=offset)


def read_idx(path: Path) -> Idx:
    """Raises OSError, also for what is no regular file, such as a symbolic link; it never waits, as
    reading a pipe would."""
    file = open_regular(path, os.O_RDONLY)
    try:
        return parse_idx(os.read(file, _MAX_IDX_BYTES + 1))
    finally:
        os.close(file)


def merge_idx(earlier: Idx, later: Idx) -> Idx:
    """Both together: an offset never moves back, and COMPLETED stays."""
    if earlier.completed or later.completed:
        completed_at = earlier.completed_at if later.completed_at is None else later.completed_at
        return Idx(completed=True, completed_at=completed_at, unreadable=later.unreadable)
    offsets = [idx.offset for idx in (earlier, later) if idx.offset is not None]
    return Idx(offset=max(offsets, default=None), unreadable=later.unreadable)
