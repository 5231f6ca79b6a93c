"""Whole segments: header, markers, records (format notes §1 to §3)."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.oracle.reference.descriptor import id_words
from tests.oracle.writer.framings import LZ4_LITERALS, PLAIN, Framing
from tests.oracle.writer.numbers import be32

MARKER_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Written:
    """The bytes of a segment and its positions.

    `record_ends` and `section_ends` are logical. `markers` are the file offsets of the markers,
    `chain_end` the offset after the last section.
    """

    data: bytes
    record_ends: tuple[tuple[int, ...], ...]
    section_ends: tuple[int, ...]
    markers: tuple[int, ...]
    chain_end: int


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
    """Marker at file offset `offset` for a section that ends at `end`."""
    return be32(end) + be32(zlib.crc32(id_words(segment_id) + be32(offset)))


def write_segment(
    sections: Iterable[Sequence[bytes]],
    version: int = 7,
    segment_id: int = 1,
    framing: Framing = PLAIN,
) -> Written:
    """Segment of sections, given by their payloads; a closing section has none."""
    data = bytearray(header(version, segment_id, framing.parameters))
    logical = len(data)
    record_ends, section_ends, markers = [], [], []
    for payloads in sections:
        records = [record(payload) for payload in payloads]
        logical += MARKER_LENGTH
        ends = []
        for written in records:
            logical += len(written)
            ends.append(logical)
        stored = framing.store(b"".join(records))
        markers.append(len(data))
        data += marker(segment_id, len(data), len(data) + MARKER_LENGTH + len(stored)) + stored
        record_ends.append(tuple(ends))
        section_ends.append(logical)
    chain_end = len(data)
    data += framing.tail(chain_end)
    return Written(bytes(data), tuple(record_ends), tuple(section_ends), tuple(markers), chain_end)


def segment(
    sections: Iterable[Sequence[bytes]],
    version: int = 7,
    segment_id: int = 1,
    parameters: bytes = b"{}",
    tail: bytes = bytes(16),
) -> bytes:
    """Bytes of a plain segment with these header parameters; `tail` follows the chain."""
    framing = Framing("plain", parameters, bytes, lambda length: tail)
    return write_segment(sections, version, segment_id, framing).data


def lz4_segment(
    sections: Iterable[Sequence[bytes]], version: int = 7, segment_id: int = 1
) -> bytes:
    """The same records as in `segment`, framed by LZ4Compressor without compression."""
    return write_segment(sections, version, segment_id, LZ4_LITERALS).data
