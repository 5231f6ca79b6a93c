"""Records inside a section: length, checksum, payload, checksum (format notes §3)."""

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.reference.errors import CorruptSegmentError
from tests.oracle.reference.sections import Section

OVERHEAD = 12
"""Bytes of a record besides its payload: the length, its checksum, the checksum over both."""


@dataclass(frozen=True, slots=True)
class Record:
    """One serialised mutation. `start` and `end` are logical positions; `end` is its identity."""

    start: int
    end: int
    payload: bytes


def read_records(section: Section, segment: str, skipped: Counter[str]) -> Iterator[Record]:
    """The records of `section`, in order. Raises CorruptSegmentError.

    An allocation that was never written leaves a length of zero: the rest of the section is skipped
    and counted in `skipped` (§2.8). Source: CommitLogReader#readSection.
    """
    content = section.content
    at = 0
    while at < len(content):
        start = section.start + at
        left = len(content) - at
        if left < 4:
            raise CorruptSegmentError(segment, start, f"{left} bytes left over in the section")
        length_bytes = content[at : at + 4]
        length = int.from_bytes(length_bytes, "big")
        if length == 0:
            skipped["zeros instead of a record"] += 1
            return
        crc = zlib.crc32(length_bytes)
        if crc.to_bytes(4, "big") != content[at + 4 : at + 8]:
            raise CorruptSegmentError(
                segment, start, "checksum of the record length does not match"
            )
        if length + OVERHEAD > left:
            raise CorruptSegmentError(segment, start, f"record of {length} bytes, {left} left")
        payload = content[at + 8 : at + 8 + length]
        # The second checksum continues the first one; it does not start again.
        crc = zlib.crc32(payload, crc)
        if crc.to_bytes(4, "big") != content[at + 8 + length : at + OVERHEAD + length]:
            raise CorruptSegmentError(segment, start, "checksum of the record does not match")
        at += OVERHEAD + length
        yield Record(start, section.start + at, payload)
