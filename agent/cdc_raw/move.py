"""Moves a file so that a complete copy exists at all times."""

import errno
import os
import stat
from pathlib import Path

from sidecar.files.directories import sync_directory, temporary_of
from sidecar.files.regular import CREATION_MODE, link_regular, open_new, open_regular

_COPY_BLOCK_BYTES = 1 << 20
# A different file system, no hard links, another user's file, too many links.
_CANNOT_LINK = frozenset((errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS))


def move(source: Path, target: Path) -> bool:
    """Durably moves `source` to `target`, replacing it. The directory of `target` must exist.

    Returns False if `source` does not exist. Raises OSError and keeps `source` on failure, also if
    `source` is not a regular file, such as a planted link.

    Where possible, links and unlinks the file instead of renaming it: after a move out of a watched
    directory, watchdog delays events by half a second.
    """
    temporary = temporary_of(target)
    try:
        if not stage(source, temporary):
            return False
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(source), None, str(target)) from error
    temporary.replace(target)
    # rename() does nothing if both names are links to the same file.
    temporary.unlink(missing_ok=True)
    sync_directory(target.parent)
    source.unlink(missing_ok=True)
    return True


def stage(source: Path, temporary: Path) -> bool:
    """Links or copies `source` to `temporary`; syncs a copy, but not the directory. Returns False
    if `source` does not exist. On failure, removes `temporary` and raises OSError."""
    temporary.unlink(missing_ok=True)
    try:
        try:
            link_regular(source, temporary)
        except OSError as error:
            if error.errno not in _CANNOT_LINK:
                raise
            _copy(source, temporary)
    except FileNotFoundError:
        if os.path.lexists(source):
            raise
        return False
    except OSError:
        # A partial copy would keep a full disk full.
        temporary.unlink(missing_ok=True)
        raise
    return True


def _copy(source: Path, temporary: Path) -> None:
    with (
        os.fdopen(open_regular(source, os.O_RDONLY), "rb") as original,
        os.fdopen(open_new(temporary), "wb") as copied,
    ):
        _copy_data(original.fileno(), copied.fileno())
        found = os.fstat(original.fileno())
        os.fchmod(copied.fileno(), stat.S_IMODE(found.st_mode) & CREATION_MODE)
        os.utime(copied.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
        os.fsync(copied.fileno())


def _copy_data(original: int, copied: int) -> None:
    """Copies data but not holes: any user can create a file with a huge hole."""
    length, at = os.fstat(original).st_size, 0
    while at < length:
        try:
            at = os.lseek(original, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break
            raise
        block = os.pread(original, _COPY_BLOCK_BYTES, at)
        if not block:
            break
        at += os.pwrite(copied, block, at)
    os.ftruncate(copied, length)
