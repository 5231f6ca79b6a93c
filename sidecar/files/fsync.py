"""Durable writes: files that survive a power failure."""

import os
from pathlib import Path

from sidecar.files.regular import make_directory, open_new, open_regular


def append_lines(path: Path, lines: bytes) -> None:
    """Append durably, after ending a line that a crash has truncated. Raises OSError."""
    make_directory(path.parent)
    line_end = b"" if _ends_with_line(path) else b"\n"
    _write(open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), line_end + lines)
    sync_directory(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Replace a file. Its content is durable on return, its name is not. Raises OSError."""
    _write(open_new(path), content)


def sync_file(path: Path) -> None:
    """Make the content of a file durable. Raises OSError."""
    descriptor = open_regular(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _ends_with_line(path: Path) -> bool:
    """False after a crash during a write."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            return (
                file.seek(0, os.SEEK_END) == 0
                or os.pread(file.fileno(), 1, file.tell() - 1) == b"\n"
            )
    except FileNotFoundError:
        return True
