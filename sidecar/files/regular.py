"""Opens regular files safely in directories that other users can write.

Other users may have write access to the agent's directories: `cdc_raw` belongs to the node, and a
shared group or a world-writable mount is common. So symbolic links are rejected, pipes and devices
never block, and a new file never reuses an existing one. The kernel's `protected_hardlinks`
prevents other users from linking files that they cannot write.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATION_MODE = 0o640
"""Mode of new files before the umask, restricted because they can contain rows."""


def open_regular(path: Path, flags: int, mode: int = CREATION_MODE) -> int:
    """Open a regular file. Raises OSError: ELOOP for a symbolic link, EISDIR for a directory,
    EINVAL for a pipe or a device."""
    try:
        descriptor = os.open(path, flags | _SAFE, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _symbolic_link(path) from None
        # A pipe without a reader, or a socket.
        if error.errno == errno.ENXIO:
            raise _irregular(path) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise _irregular(path)


def open_new(path: Path, mode: int = CREATION_MODE) -> int:
    """Create a file for writing, after unlinking any file of this name. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, mode)


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Read a regular file. Raises OSError, with EFBIG above `max_bytes`."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return _content(file, max_bytes, path)


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """Read a file that the operator configured, which may be a link, a pipe or a device.
    Raises OSError, with EFBIG above `max_bytes`."""
    with path.open("rb") as file:
        return _content(file, max_bytes, path)


def link_regular(source: Path, target: Path) -> None:
    """Link a regular file to a second name, which must be free. Raises OSError."""
    os.link(source, target, follow_symlinks=False)
    # Checked afterwards: the source can be replaced at any time, the target cannot.
    mode = target.lstat().st_mode
    if stat.S_ISREG(mode):
        return
    with suppress(OSError):
        target.unlink()
    raise _symbolic_link(source) if stat.S_ISLNK(mode) else _irregular(source)


def regular_size_bytes(path: Path) -> int | None:
    """Return a regular file's size, or None if there is no such file. Raises other OSErrors."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def make_directory(path: Path) -> None:
    """Create a directory if it is missing. A symbolic link must belong to this user or root, as in
    the kernel's rule for sticky directories. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True)
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (0, os.geteuid()):
        raise OSError(errno.EPERM, "it is a symbolic link of another user", str(path))


def _content(file: IO[bytes], max_bytes: int, path: Path) -> bytes:
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"it has more than {max_bytes} bytes", str(path))
    return content


def _symbolic_link(path: Path) -> OSError:
    return OSError(errno.ELOOP, "it is a symbolic link, which is not followed", str(path))


def _irregular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", str(path))


_CHUNK_BYTES = 1 << 20


class LineCount:
    """Counts lines, and reads only bytes appended since the previous call. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size_bytes = 0
        self._lines = 0

    def count(self) -> int:
        """Return the number of complete lines, or 0 if the file is missing. Raises OSError."""
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
