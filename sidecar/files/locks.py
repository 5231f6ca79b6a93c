"""Exclusive locks on directories, so that two instances never share one.

The lock is `flock` on a descriptor of the directory itself: it writes nothing, and the kernel
releases it when the process ends for any reason.
"""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from sidecar.errors import ConfigError, LockedError

_PROC_LOCKS = Path("/proc/locks")


class DirectoryLock:
    """Locks all directories or none; a directory with two paths counts once."""

    def __init__(self, *directories: Path) -> None:
        self._directories = directories
        self._descriptors: list[int] = []

    def acquire(self) -> None:
        """Lock without waiting. Raises LockedError when another process holds a lock, ConfigError
        when a directory does not exist or cannot be locked."""
        seen: set[tuple[int, int]] = set()
        try:
            for directory in self._directories:
                descriptor = _open_directory(directory)
                self._descriptors.append(descriptor)
                status = os.fstat(descriptor)
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    _lock(directory, descriptor)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def lock_holder(directory: Path) -> int | None:
    """The process that has locked a directory, if visible; None without one.

    Acquires no lock, so that an agent can start meanwhile. Raises OSError.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return _holder(descriptor)
    finally:
        os.close(descriptor)


def _open_directory(directory: Path) -> int:
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigError(
            f"The directory {directory} cannot be opened: {error.strerror}."
        ) from error


def _lock(directory: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno != errno.EWOULDBLOCK:
            raise ConfigError(
                f"The directory {directory} cannot be locked: {error.strerror}. "
                "Use a file system that supports flock."
            ) from error
        pid = _holder(descriptor)
        holder = "another process" if pid is None else f"the process {pid}"
        raise LockedError(
            f"The directory {directory} is locked by {holder}. "
            "Stop that instance, or configure other directories for this one."
        ) from error


def _holder(descriptor: int) -> int | None:
    """The process that holds the lock, by /proc/locks.

    A line reads `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`: process, device, inode.
    """
    status = os.fstat(descriptor)
    device = (os.major(status.st_dev), os.minor(status.st_dev), status.st_ino)
    with suppress(OSError, ValueError, IndexError):
        for line in _PROC_LOCKS.read_text().splitlines():
            fields = line.split()
            if fields[1] != "FLOCK" or fields[3] != "WRITE":
                continue
            major, minor, inode = fields[5].split(":")
            if (int(major, 16), int(minor, 16), int(inode)) == device and int(fields[4]) > 0:
                return int(fields[4])
    return None
