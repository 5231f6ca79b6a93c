"""Moves a file so that a complete copy exists at any time."""

import errno
import os
import stat
from pathlib import Path

from agent.cdc_raw.names import temporary_of
from sidecar.files.directories import sync_directory
from sidecar.files.regular import CREATION_MODE, link_regular, open_new, open_regular

_COPY_BLOCK_BYTES = 1 << 20
# Another file system, one without hard links, a file of another user, too many links.
_CANNOT_LINK = frozenset((errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS))


def move(source: Path, target: Path) -> bool:
    """Moves `source` to `target` durably, replacing it; the directory of `target` exists.

    False without a source. Raises OSError and keeps the source; also for a source that is not a
    regular file, such as a planted link.

    Links and unlinks the file instead of a rename where possible: watchdog delays events by half a
    second after a file moved out of a watched directory.
    """
    temporary = temporary_of(target)
    try:
        if not stage(source, temporary):
            return False
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(source), None, str(target)) from error
    temporary.replace(target)
    # Renaming one link of a file onto another link leaves both.
    temporary.unlink(missing_ok=True)
    sync_directory(target.parent)
    source.unlink(missing_ok=True)
    return True


def stage(source: Path, temporary: Path) -> bool:
    """Links or copies `source` to a temporary name; syncs only the content. False without a
    source. Raises OSError and removes `temporary`."""
    temporary.unlink(missing_ok=True)
    try:
        if not _try_link(source, temporary):
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


def _try_link(source: Path, temporary: Path) -> bool:
    try:
        link_regular(source, temporary)
    except OSError as error:
        if error.errno in _CANNOT_LINK:
            return False
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
    """Copies the data and leaves out the holes: anybody can make a hole of any length."""
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
