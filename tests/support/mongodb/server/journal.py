"""Oplog entries on disk, so that a killed server has them again.

Each entry is its length, its CRC-32 and its pickle. A kill may cut the last one; nobody had the
answer to that write.
"""

import pickle
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.support.mongodb.server.oplog import Entry

_HEAD = struct.Struct("<II")


class Journal:
    """One file. Read `entries` first; `append` continues behind the last whole entry."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._file = path.open("r+b", buffering=0)

    def entries(self) -> Iterator[Entry]:
        """All whole entries in order. What follows them is cut off."""
        end = 0
        while len(head := self._file.read(_HEAD.size)) == _HEAD.size:
            size, checksum = _HEAD.unpack(head)
            body = self._file.read(size)
            if len(body) < size or zlib.crc32(body) != checksum:
                break
            end += _HEAD.size + size
            entry: Entry = pickle.loads(body)
            yield entry
        self._file.truncate(end)
        self._file.seek(end)

    def append(self, entry: Entry) -> None:
        """The operating system has the entry when this returns: a SIGKILL does not lose it."""
        body = pickle.dumps(entry, pickle.HIGHEST_PROTOCOL)
        self._file.write(_HEAD.pack(len(body), zlib.crc32(body)) + body)

    def close(self) -> None:
        self._file.close()
