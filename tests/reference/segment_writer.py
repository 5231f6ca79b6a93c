"""Builds small segments for tests: the reverse of descriptor, sections, records and mutation.

Of payloads only the simplest form, as far as the framing of one needs it (format notes §1 to §4.3);
tests write rows as bytes.
"""

import zlib
from collections.abc import Iterable, Sequence
from uuid import UUID

from .descriptor import id_words
from .mutation import HAS_ROW_ESTIMATE
from .rows import HAS_ALL_COLUMNS, HAS_TIMESTAMP, USE_ROW_TIMESTAMP


def be32(value: int) -> bytes:
    """Four bytes, big-endian."""
    return value.to_bytes(4, "big")


def uvint(value: int) -> bytes:
    """The shortest unsigned variable-length integer for 0 to 2^64-1 (§5.1)."""
    extra = next(k for k in range(9) if k == 8 or value < 1 << 7 * (k + 1))
    leading_ones = 0xFF << 8 - extra & 0xFF
    if extra == 8:
        return b"\xff" + value.to_bytes(8, "big")
    data = bytearray(value.to_bytes(extra + 1, "big"))
    data[0] |= leading_ones
    return bytes(data)


def vbytes(data: bytes) -> bytes:
    """A byte string behind its length."""
    return uvint(len(data)) + data


def mutation(*updates: bytes) -> bytes:
    """A payload of some updates."""
    return uvint(len(updates)) + b"".join(updates)


def update(table_id: UUID, items: bytes, columns: Sequence[bytes] = (b"v",)) -> bytes:
    """An update of the partition `a`, all bases at their epoch; `items` are rows and markers."""
    names = uvint(len(columns)) + b"".join(vbytes(name) for name in columns)
    head = table_id.bytes + vbytes(b"a") + bytes([HAS_ROW_ESTIMATE]) + uvint(0) * 3
    return head + names + uvint(1) + items + b"\x01"


def insert(clustering: int, value: bytes) -> bytes:
    """A row with an int as its clustering and one text cell that is as old as the row."""
    flags = bytes([HAS_TIMESTAMP | HAS_ALL_COLUMNS])
    cell = bytes([USE_ROW_TIMESTAMP]) + vbytes(value)
    return flags + uvint(0) + be32(clustering) + uvint(9) + cell


def header(version: int, segment_id: int, parameters: bytes = b"{}") -> bytes:
    """A descriptor with its checksum."""
    covered = be32(version) + id_words(segment_id) + be32(len(parameters)) + parameters
    stored = be32(version) + segment_id.to_bytes(8, "big") + len(parameters).to_bytes(2, "big")
    return stored + parameters + be32(zlib.crc32(covered))


def record(payload: bytes) -> bytes:
    """A record with its two checksums."""
    length = be32(len(payload))
    crc = zlib.crc32(length)
    return length + be32(crc) + payload + be32(zlib.crc32(payload, crc))


def marker(segment_id: int, offset: int, end: int) -> bytes:
    """The marker that stands at file offset `offset` for a section that ends at `end`."""
    return be32(end) + be32(zlib.crc32(id_words(segment_id) + be32(offset)))


def segment(
    sections: Iterable[Sequence[bytes]],
    version: int = 7,
    segment_id: int = 1,
    parameters: bytes = b"{}",
    tail: bytes = bytes(16),
) -> bytes:
    """A plain segment: each section is given by its payloads, `tail` stands behind the chain."""
    data = header(version, segment_id, parameters)
    for payloads in sections:
        content = b"".join(record(payload) for payload in payloads)
        data += marker(segment_id, len(data), len(data) + 8 + len(content)) + content
    return data + tail


def lz4_literals(content: bytes) -> bytes:
    """An LZ4 block with its length in front that stands for `content` and compresses nothing."""
    length = len(content)
    token = bytes([min(length, 15) << 4])
    more = b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])
    return length.to_bytes(4, "little") + token + more + content


def lz4_segment(
    sections: Iterable[Sequence[bytes]], version: int = 7, segment_id: int = 1
) -> bytes:
    """The same records as `segment`, as LZ4Compressor frames them."""
    data = header(version, segment_id, b'{"compressionClass":"LZ4Compressor"}')
    for payloads in sections:
        content = b"".join(record(payload) for payload in payloads)
        stored = be32(len(content)) + lz4_literals(content)
        data += marker(segment_id, len(data), len(data) + 8 + len(stored)) + stored
    return data
