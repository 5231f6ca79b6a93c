"""Parses `_cdc.idx` files (format notes §7.3).

The node truncates and rewrites the file, so a reader can find it empty, which is no update. Next to
COMPLETED, `CommitLogSegment#sync` writes the logical end of a closed segment, and
`CommitLogReplayer#handleCDCReplayCompletion` the file length of a replayed segment.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sidecar.files.regular import open_regular

# Enough for an offset of ten digits and "COMPLETED" on the second line.
_MAX_IDX_BYTES = 64

# Cassandra stores offsets in a Java int.
_MAX_OFFSET = (1 << 31) - 1

_CONTENT = re.compile(rb"([0-9]{1,10})(\n(?:COMPLETED\n?)?)?")


@dataclass(frozen=True, slots=True)
class Idx:
    """The content of an index file: no update, an offset, or COMPLETED."""

    offset: int | None = None
    """Logical offset up to which sections are durable. None without an update or if COMPLETED."""
    completed: bool = False
    completed_at: int | None = None
    """The number next to COMPLETED."""
    unreadable: str | None = None
    """The invalid content or the read error, for the operator; None for a valid index."""

    @property
    def has_update(self) -> bool:
        """True if the node has reported CDC data in the segment."""
        return self.completed or self.offset is not None

    def synced_end(self, file_bytes: int | None) -> int:
        """Logical position up to which the index proves that the segment is synced; 0 without
        proof. `file_bytes` is the file length, or None if unknown.

        A COMPLETED number equal to the file length proves nothing: a replay may have written it,
        and the log in a preallocated file ends earlier.
        """
        if self.completed_at is not None and file_bytes not in (None, self.completed_at):
            return self.completed_at
        return self.offset or 0


NO_UPDATE = Idx()


def parse_idx(content: bytes) -> Idx:
    """Parses an index file. Never raises: invalid content is no update, kept in `unreadable`."""
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
    """Reads an index file. Raises OSError, also if it is not a regular file but a link or pipe."""
    file = open_regular(path, os.O_RDONLY)
    try:
        return parse_idx(os.read(file, _MAX_IDX_BYTES + 1))
    finally:
        os.close(file)


def merge_idx(earlier: Idx, later: Idx) -> Idx:
    """Combines two reads of an index: offsets never move back, and COMPLETED is final."""
    if earlier.completed or later.completed:
        completed_at = earlier.completed_at if later.completed_at is None else later.completed_at
        return Idx(completed=True, completed_at=completed_at, unreadable=later.unreadable)
    offsets = [idx.offset for idx in (earlier, later) if idx.offset is not None]
    return Idx(offset=max(offsets, default=None), unreadable=later.unreadable)
