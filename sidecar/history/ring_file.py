"""The history in memory and in its file.

A failed write never reaches the caller: the samples stay in memory, the failure is logged, and the
next sample writes the whole file again. The file's space is reserved when it is created, so a full
disk does not stop later samples. Samples are not synced: a power failure may lose the latest
minutes, a crash of the process only the current minute.

The header has 512 bytes: magic, format version, interval in seconds, number of slots, column names
and a CRC-32 of these. A slot contains the time (seconds since 1970, a signed 64-bit integer), one
double per column (NaN: unknown) and a CRC-32. All numbers are little-endian. A sample's time
determines its slot, so it replaces the sample from 24 hours earlier. A slot with a wrong checksum,
such as after a crash during a write, counts as empty.
"""

import errno
import logging
import math
import os
import shutil
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sidecar.files.directories import replace_synced
from sidecar.files.regular import open_regular, read_regular
from sidecar.logs import RateLimitedLog, fields

logger = logging.getLogger(__name__)

FILE_NAME = "history.ring"
_MAX_FILE_BYTES = 1 << 20
_RESERVE_BYTES = 8 << 20
"""Free space that must exist before the whole file is written, reserved for the offsets."""


VERSION = 1
HEADER_BYTES = 512
_MAGIC = b"CDCRING\0"
_HEAD = struct.Struct("<8sHIIH")
_CRC = struct.Struct("<I")
_LARGEST_TIME_S = 1 << 40

Values = tuple[float, ...]
"""One number for each column; NaN means unknown."""


class DamagedHistoryError(ValueError):
    """The content is not a history file of this release; the message states the reason."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a file and its size."""

    columns: tuple[str, ...]
    interval_s: int = 60
    slots: int = 1440

    @property
    def slot_bytes(self) -> int:
        return 8 + 8 * len(self.columns) + _CRC.size

    @property
    def file_bytes(self) -> int:
        return HEADER_BYTES + self.slots * self.slot_bytes

    def slot_of(self, time_s: int) -> int:
        return time_s // self.interval_s % self.slots

    def offset_of(self, time_s: int) -> int:
        return HEADER_BYTES + self.slot_of(time_s) * self.slot_bytes


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


def encode_header(layout: Layout) -> bytes:
    """Encode the header. Raises ValueError if the column names do not fit."""
    names = "\n".join(layout.columns).encode()
    head = _HEAD.pack(_MAGIC, VERSION, layout.interval_s, layout.slots, len(names)) + names
    if len(head) > HEADER_BYTES - _CRC.size:
        raise ValueError("the names of the columns do not fit into the header")
    padded = head.ljust(HEADER_BYTES - _CRC.size, b"\0")
    return padded + _CRC.pack(zlib.crc32(padded))


def encode_slot(time_s: int, values: Values) -> bytes:
    body = struct.pack(f"<q{len(values)}d", time_s, *values)
    return body + _CRC.pack(zlib.crc32(body))


def encode_file(layout: Layout, samples: Mapping[int, Values]) -> bytes:
    """Encode a whole file; `samples` maps times to values."""
    content = bytearray(encode_header(layout)).ljust(layout.file_bytes, b"\0")
    for time_s, values in samples.items():
        at = layout.offset_of(time_s)
        content[at : at + layout.slot_bytes] = encode_slot(time_s, values)
    return bytes(content)


def decode_file(content: bytes) -> tuple[Layout, dict[int, Values]]:
    """Decode the layout and the samples by time, and skip damaged slots. Raises
    DamagedHistoryError."""
    header, checksum = content[: HEADER_BYTES - _CRC.size], content[HEADER_BYTES - _CRC.size :]
    if len(content) < HEADER_BYTES or not header.startswith(_MAGIC):
        raise DamagedHistoryError("it is not a history file")
    if _CRC.unpack_from(checksum)[0] != zlib.crc32(header):
        raise DamagedHistoryError("the checksum of its header is wrong")
    _, version, interval_s, slots, names_bytes = _HEAD.unpack_from(header)
    if version != VERSION:
        raise DamagedHistoryError(f"its format version is {version}; this release reads {VERSION}")
    names = header[_HEAD.size : _HEAD.size + names_bytes].decode("utf-8", "replace")
    layout = Layout(tuple(names.split("\n")), interval_s, slots)
    samples = {}
    for at in range(HEADER_BYTES, len(content) - layout.slot_bytes + 1, layout.slot_bytes):
        found = _decode_slot(content[at : at + layout.slot_bytes], len(layout.columns))
        if found is not None:
            samples[found[0]] = found[1]
    return layout, samples


def rearranged(layout: Layout, found: Layout, samples: Mapping[int, Values]) -> dict[int, Values]:
    """Convert samples of a different release: match columns by name, and fill gaps with NaN."""
    if found == layout:
        return dict(samples)
    if found.interval_s != layout.interval_s:
        return {}
    places = {name: place for place, name in enumerate(found.columns)}
    return {
        time_s: tuple(
            values[places[name]] if name in places else math.nan for name in layout.columns
        )
        for time_s, values in samples.items()
    }


def _decode_slot(slot: bytes, columns: int) -> tuple[int, Values] | None:
    body = slot[: -_CRC.size]
    if _CRC.unpack_from(slot, len(body))[0] != zlib.crc32(body):
        return None
    time_s, *values = struct.unpack(f"<q{columns}d", body)
    return (time_s, tuple(values)) if 0 < time_s < _LARGEST_TIME_S else None
