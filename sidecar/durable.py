"""Files that are there after a power cut."""

import os
from pathlib import Path


def append_lines(path: Path, lines: bytes) -> None:
    """Durably. A line that a crash has torn is ended first. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torn = b"" if _ends_with_line(path) else b"\n"
    write_synced(path, torn + lines, "ab")
    sync_directory(path.parent)


def write_synced(path: Path, content: bytes, mode: str = "wb") -> None:
    """Durable on return, but for the name of a new file. Raises OSError."""
    with path.open(mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Makes what is in it durable. Raises OSError."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Makes the names in it durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ends_with_line(path: Path) -> bool:
    """False after a crash in the middle of a write."""
    try:
        with path.open("rb") as file:
            return (
                file.seek(0, os.SEEK_END) == 0
                or os.pread(file.fileno(), 1, file.tell() - 1) == b"\n"
            )
    except FileNotFoundError:
        return True
