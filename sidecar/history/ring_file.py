"""The history in memory and in its file.

A failed write never reaches the caller: the samples stay in memory, the failure is logged, and the
next sample writes the whole file again. The file's space is reserved when it is created, so a full
disk does not stop later samples. Samples are not synced: a power failure may lose the latest
minutes, a crash of the process only the current minute.
"""

import errno
import logging
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from sidecar.files.directories import replace_synced
from sidecar.files.regular import open_regular, read_regular
from sidecar.history.ring_format import (
    DamagedHistoryError,
    Layout,
    Values,
    decode_file,
    encode_file,
    encode_slot,
    rearranged,
)
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

FILE_NAME = "history.ring"
_MAX_FILE_BYTES = 1 << 20
_RESERVE_BYTES = 8 << 20
"""Free space that must exist before the whole file is written, reserved for the offsets."""


class RingFile:
    """The samples of the last `layout.slots` intervals. All methods are thread-safe."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path = path
        self.layout = layout
        self._lock = threading.Lock()
        self._by_slot: dict[int, tuple[int, Values]] = {}
        self._is_whole = False
        """Whether the file contains all samples in memory."""
        self._repeated = RateLimitedLog(logger)

    def load(self) -> None:
        """Reads the file. A missing, damaged or unreadable file counts as empty."""
        try:
            content = read_regular(self.path, _MAX_FILE_BYTES)
            found, samples = decode_file(content)
        except FileNotFoundError:
            return
        except (OSError, DamagedHistoryError) as error:
            logger.warning(
                "the stored history is ignored",
                extra=fields(file=self.path, reason=_reason(error)),
            )
            return
        layout = self.layout
        with self._lock:
            for time_s, values in sorted(rearranged(layout, found, samples).items()):
                self._by_slot[layout.slot_of(time_s)] = (time_s, values)
            self._is_whole = found == layout and len(content) == layout.file_bytes

    def put(self, time_s: int, values: Values) -> None:
        """Replaces the sample of an interval, which begins at `time_s`, in memory and on disk."""
        with self._lock:
            self._by_slot[self.layout.slot_of(time_s)] = (time_s, values)
        try:
            if self._is_whole and self.path.exists():
                self._write_slot(time_s, values)
            else:
                self._write_all()
        except OSError as error:
            self._is_whole = False
            self._repeated.log(
                "write",
                "the history cannot be stored; it stays in memory",
                level=logging.INFO,
                file=self.path,
                reason=_reason(error),
            )
            return
        self._repeated.resolved("write", "storing the history works again")

    def rows(self, now_s: float) -> Iterator[tuple[int, Values]]:
        """Yields samples of the last 24 hours (with the default layout), oldest first. Skips
        samples from the future, which exist after the clock was set back."""
        layout = self.layout
        with self._lock:
            known = sorted(self._by_slot.values())
        first_s = now_s - layout.slots * layout.interval_s
        yield from ((time_s, values) for time_s, values in known if first_s < time_s <= now_s)

    def _write_slot(self, time_s: int, values: Values) -> None:
        descriptor = open_regular(self.path, os.O_WRONLY)
        try:
            if os.fstat(descriptor).st_size != self.layout.file_bytes:
                raise OSError(errno.EIO, "another program changed its size", str(self.path))
            slot = encode_slot(time_s, values)
            if os.pwrite(descriptor, slot, self.layout.offset_of(time_s)) != len(slot):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        finally:
            os.close(descriptor)

    def _write_all(self) -> None:
        with self._lock:
            samples = dict(self._by_slot.values())
        if shutil.disk_usage(self.path.parent).free < _RESERVE_BYTES:
            reason = f"less than {_RESERVE_BYTES >> 20} MiB are free"
            raise OSError(errno.ENOSPC, reason, str(self.path))
        replace_synced(self.path, encode_file(self.layout, samples))
        self._is_whole = True


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
