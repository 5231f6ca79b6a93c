"""The line count of a growing file."""

import os
from pathlib import Path

from sidecar.files.regular import open_regular

_CHUNK_BYTES = 1 << 20


class LineCount:
    """Reads only the lines appended since the last call. For one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size_bytes = 0
        self._lines = 0

    def count(self) -> int:
        """The number of complete lines; 0 without a file. Raises OSError."""
        try:
            size_bytes = self._path.lstat().st_size
        except FileNotFoundError:
            size_bytes = 0
        if size_bytes < self._size_bytes:
            # The file was replaced.
            self._size_bytes = self._lines = 0
        if size_bytes > self._size_bytes:
            self._read()
        return self._lines

    def _read(self) -> None:
        with os.fdopen(open_regular(self._path, os.O_RDONLY), "rb") as file:
            file.seek(self._size_bytes)
            while chunk := file.read(_CHUNK_BYTES):
                self._lines += chunk.count(b"\n")
                self._size_bytes += len(chunk)
