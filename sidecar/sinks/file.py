"""The file sink: one JSON line per event, acknowledged after fsync."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sidecar.errors import ConfigError, LockedError, SinkRestartError
from sidecar.events import NumberedBatch
from sidecar.files.regular import open_regular
from sidecar.quantities import size_text
from sidecar.sinks.base import DeliveryResult, SinkState

_BLOCK_BYTES = 1 << 16


class FileSink:
    """Writes complete lines: `open` truncates a line that a crash has left incomplete.

    After a failed write, such as on a full disk, it truncates the file and retries indefinitely.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._size_bytes = 0
        self._unsynced: list[range] = []
        self._problem: str | None = None

    def open(self) -> None:
        """Open the file. Raises ConfigError if that fails, LockedError if the file is in use."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._size_bytes = _end_of_last_line(self._descriptor)
            os.ftruncate(self._descriptor, self._size_bytes)
        except BlockingIOError as error:
            self._release()
            raise LockedError(
                f"Another process writes to the file {self._path}. Set a different file.path."
            ) from error
        except OSError as error:
            self._release()
            raise ConfigError(
                f"The file {self._path} (file.path) cannot be written: {error.strerror}."
            ) from error

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        assert self._descriptor is not None
        stop = len(numbered.batch)
        lines = memoryview(numbered.batch.ndjson(start, stop))
        try:
            written = 0
            while written < len(lines):
                written += os.write(self._descriptor, lines[written:])
        except OSError as error:
            self._problem = f"{self._path} cannot be written: {error.strerror}"
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size_bytes)
            return 0
        self._problem = None
        self._size_bytes += len(lines)
        self._unsynced.append(range(numbered.first + start, numbered.first + stop))
        return stop - start

    def poll(self, timeout_s: float) -> DeliveryResult:
        """Sync the writes since the previous call. Sleeps only while writes fail, so that the
        caller does not retry in a busy loop."""
        if not self._unsynced:
            if self._problem is not None:
                time.sleep(timeout_s)
            return DeliveryResult()
        assert self._descriptor is not None
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # After a failed sync the kernel may have dropped dirty pages.
            raise SinkRestartError(
                f"The file {self._path} cannot be synced to its disk: {error.strerror}."
            ) from error
        outcome = DeliveryResult(acknowledged=tuple(self._unsynced))
        self._unsynced.clear()
        return outcome

    def state(self) -> SinkState:
        if self._problem is not None:
            return SinkState(False, f"{self._problem}; the agent retries")
        return SinkState(True, f"{self._path} has {size_text(self._size_bytes)}")

    def dead_letter(self, number: int) -> None:
        """Does nothing, because this sink stores no positions."""

    def close(self, deadline_s: float) -> DeliveryResult:
        try:
            return self.poll(0)
        except SinkRestartError:
            return DeliveryResult()
        finally:
            self._unsynced.clear()
            self._problem = None
            self._release()

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _end_of_last_line(descriptor: int) -> int:
    position = os.fstat(descriptor).st_size
    while position > 0:
        start = max(0, position - _BLOCK_BYTES)
        block = os.pread(descriptor, position - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0
