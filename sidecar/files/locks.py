"""Exclusive locks on directories, so that two instances never share one.

The lock is `flock` on a descriptor of the directory itself: it writes nothing, and the kernel
releases it when the process exits for any reason. But every user who can read a directory can lock
it. So the agent ignores a lock that only other users' processes hold, and protects its own
directory with a second lock: a file that only the agent's user can open.
"""

import errno
import fcntl
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from sidecar.errors import ConfigError, LockedError
from sidecar.files.regular import open_new, open_regular

logger = logging.getLogger(__name__)

LOCK_FILE = ".lock"
_NOT_WRITABLE = frozenset((errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT))
_PROC_LOCKS = Path("/proc/locks")


class DirectoryLock:
    """Locks all directories or none; a directory with two paths counts once. `private` is the
    agent's own directory, which receives the second lock."""

    def __init__(self, *directories: Path, private: Path | None = None) -> None:
        self._directories = directories
        self._private = private
        self._is_sure = True
        """Whether this process holds the locks of all directories."""
        self._file: Path | None = None
        """The lock file that this process holds."""
        self._descriptors: list[int] = []

    def acquire(self) -> None:
        """Lock without waiting. Raises LockedError when another process holds a lock, ConfigError
        when a directory does not exist or cannot be locked."""
        seen: set[tuple[int, int]] = set()
        self._is_sure = True
        try:
            for directory in self._directories:
                descriptor = _open_directory(directory)
                self._descriptors.append(descriptor)
                status = os.fstat(descriptor)
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    self._is_sure &= _lock(directory, descriptor)
            if self._private is not None:
                self._lock_file(self._private)
        except BaseException:
            self.release()
            raise

    def _lock_file(self, directory: Path) -> None:
        path = directory / LOCK_FILE
        try:
            descriptor = _open_own(path)
        except OSError as error:
            if error.errno in _NOT_WRITABLE and not os.path.lexists(path):
                return
            # Left by a killed process of another user, or planted.
            if self._is_sure and not path.is_dir() and not _holders(path.lstat()):
                descriptor = open_new(path, 0o600)
            else:
                raise ConfigError(
                    f"{path} cannot be used: {error.strerror}. If no agent runs, delete it."
                ) from error
        self._descriptors.append(descriptor)
        os.fchmod(descriptor, 0o600)
        _lock(directory, descriptor, is_private=True)
        if not os.fstat(descriptor).st_nlink:
            # The previous holder has deleted the file in the meantime.
            os.close(self._descriptors.pop())
            self._lock_file(directory)
            return
        self._file = path

    def release(self) -> None:
        if self._file is not None:
            # Delete the file before unlocking it: afterwards the next process may hold it.
            with suppress(OSError):
                self._file.unlink()
            self._file = None
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def lock_holder(directory: Path) -> int | None:
    """Return the process of this user or root that locks a directory, or None.

    Acquires no lock, so that an agent can start at the same time. Raises OSError.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return next((pid for pid in _holders(os.fstat(descriptor)) if not _is_stranger(pid)), None)
    finally:
        os.close(descriptor)


def _open_directory(directory: Path) -> int:
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigError(
            f"The directory {directory} cannot be opened: {error.strerror}."
        ) from error


def _open_own(path: Path) -> int:
    """Open or create a file that belongs to this user and has one name. Raises OSError."""
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT, 0o600)
    status = os.fstat(descriptor)
    if status.st_uid == os.geteuid() and status.st_nlink < 2:
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EPERM, f"it belongs to user id {status.st_uid}, or has a second hard link")


def _lock(directory: Path, descriptor: int, *, is_private: bool = False) -> bool:
    """Try to lock. Return False if only processes of other users hold the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if error.errno != errno.EWOULDBLOCK:
            raise ConfigError(
                f"The directory {directory} cannot be locked: {error.strerror}. "
                "Use a file system that supports flock."
            ) from error
        pids = _holders(os.fstat(descriptor))
        if not is_private and pids and all(map(_is_stranger, pids)):
            logger.warning(
                "processes of other users lock the directory %s, which does not stop the agent: "
                "%s. Keep other users from reading it.",
                directory,
                ", ".join(map(str, pids)),
            )
            return False
        holder = "another process" if not pids else f"the process {pids[0]}"
        raise LockedError(
            f"The directory {directory} is locked by {holder}. "
            "Stop that instance, or configure different directories for this one."
        ) from error


def _is_stranger(pid: int) -> bool:
    """Whether a process belongs to neither this user nor root."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("Uid:"):
                # Real, effective, saved and file-system ids.
                return {0, os.geteuid()}.isdisjoint(map(int, line.split()[1:]))
    return False


def _holders(status: os.stat_result) -> list[int]:
    """Return the visible processes that hold a lock, according to /proc/locks.

    A line reads `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`: process, device, inode. For a
    waiting process, `->` follows the number.
    """
    device = (os.major(status.st_dev), os.minor(status.st_dev), status.st_ino)
    found = []
    with suppress(OSError, ValueError, IndexError):
        for line in _PROC_LOCKS.read_text().splitlines():
            fields = line.split()
            if fields[1] != "FLOCK":
                continue
            major, minor, inode = fields[5].split(":")
            if (int(major, 16), int(minor, 16), int(inode)) == device and int(fields[4]) > 0:
                found.append(int(fields[4]))
    return found
