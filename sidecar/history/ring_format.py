"""Encodes and decodes a history file: a header, then a fixed number of slots. Pure.

The header has 512 bytes: magic, format version, interval in seconds, number of slots, column names
and a CRC-32 of these. A slot contains the time (seconds since 1970, a signed 64-bit integer), one
double per column (NaN: unknown) and a CRC-32. All numbers are little-endian. A sample's time
determines its slot, so it replaces the sample from 24 hours earlier. A slot with a wrong checksum,
such as after a crash during a write, counts as empty.
"""

import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

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
