"""What a `_cdc.idx` file says (format notes §7.3).

The node rewrites it by truncation and one write, so a reader can meet an empty file: no news. The
number beside COMPLETED may be physical and smaller than the logical end, so it is not kept.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

# An offset has at most 19 digits, and "COMPLETED" follows on the second line.
_MAX_IDX_BYTES = 64

_CONTENT = re.compile(rb"([0-9]{1,19})(\n(?:COMPLETED\n?)?)?")


@dataclass(frozen=True, slots=True)
class Idx:
    """News of an index: an offset, or that the segment is complete, or none of both."""

    offset: int | None = None
    """Logical; sections that end at or before it are durable. None: no news, or COMPLETED."""
    completed: bool = False
    unreadable: str | None = None
    """What stands there instead, for the operator; None where all is well."""

    @property
    def has_news(self) -> bool:
        """True where the node has said that the segment holds CDC data."""
        return self.completed or self.offset is not None


NO_NEWS = Idx()


def parse_idx(content: bytes) -> Idx:
    """Reads the content of an index file. Never raises: what cannot be understood is no news, and
    `unreadable` shows it."""
    if not content:
        return NO_NEWS
    found = _CONTENT.fullmatch(content)
    if found is None:
        return Idx(unreadable=repr(content[:_MAX_IDX_BYTES])[1:])
    if found[2] and b"COMPLETED" in found[2]:
        return Idx(completed=True)
    return Idx(offset=int(found[1]))


def read_idx(path: Path) -> Idx:
    """Raises OSError, for what is no file too; it never waits, as reading a pipe would."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "is no file", str(path))
        return parse_idx(os.read(file, _MAX_IDX_BYTES + 1))
    finally:
        os.close(file)


def newest(earlier: Idx, later: Idx) -> Idx:
    """Both together: an offset never moves back, and COMPLETED stays."""
    if earlier.completed or later.completed:
        return Idx(completed=True, unreadable=later.unreadable)
    offsets = [idx.offset for idx in (earlier, later) if idx.offset is not None]
    return Idx(offset=max(offsets, default=None), unreadable=later.unreadable)
