"""The chain of sync sections after the header (format notes §2)."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.oracle.reference.blocks import COMPRESSORS, decompress
from tests.oracle.reference.descriptor import Descriptor, id_words
from tests.oracle.reference.encryption import decrypt
from tests.oracle.reference.errors import (
    CorruptSegmentError,
    MalformedError,
    UnsupportedSegmentError,
)

MARKER_LENGTH = 8
NO_KEYS: Mapping[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class Section:
    """A section, which one sync of the node closes.

    `marker` and `file_end` are file offsets; `start` is the logical position of the first content
    byte and `end` the logical position after the last one (§2.3). In plain segments, logical
    positions equal file offsets.
    """

    marker: int
    file_end: int
    start: int
    content: bytes

    @property
    def end(self) -> int:
        """Logical position of the section's end: the content of a CDC index file."""
        return self.start + len(self.content)


def read_sections(
    data: bytes, descriptor: Descriptor, keys: Mapping[str, bytes] = NO_KEYS
) -> Iterator[Section]:
    """The sections of the chain from the header, in file order. `keys` are by alias in lower case,
    as in Java's keystores.

    Ends at a marker of zeros or where no marker fits, and ignores all later bytes. Raises
    CorruptSegmentError for a broken chain. Source: CommitLogSegmentReader; §2.1, §2.2.
    """
    segment = descriptor.segment
    if descriptor.compression is not None and descriptor.compression not in COMPRESSORS:
        raise UnsupportedSegmentError(segment, 14, f"compressed with {descriptor.compression}")
    if descriptor.encryption is not None and descriptor.encryption.alias.lower() not in keys:
        raise UnsupportedSegmentError(segment, 14, f"no key {descriptor.encryption.alias}")
    marker = logical = descriptor.header_length
    while marker + MARKER_LENGTH <= len(data):
        words = data[marker : marker + MARKER_LENGTH]
        if words == bytes(MARKER_LENGTH):
            return
        end = int.from_bytes(words[:4], "big")
        covered = id_words(descriptor.id) + marker.to_bytes(4, "big")
        if zlib.crc32(covered).to_bytes(4, "big") != words[4:]:
            raise CorruptSegmentError(segment, marker, "marker checksum does not match")
        # The checksum does not cover the end, so no other check protects it.
        if not marker + MARKER_LENGTH <= end <= len(data):
            raise CorruptSegmentError(
                segment, marker, f"section ends at {end}, the file at {len(data)}"
            )
        stored = data[marker + MARKER_LENGTH : end]
        try:
            content = _content(stored, descriptor, keys)
        except MalformedError as error:
            raise CorruptSegmentError(segment, marker, error.what) from error
        section = Section(marker, end, logical + MARKER_LENGTH, content)
        yield section
        marker, logical = end, section.end


def _content(stored: bytes, descriptor: Descriptor, keys: Mapping[str, bytes]) -> bytes:
    """The records of a section. Unless they stand there as they are, their length comes first
    (CompressedSegment, EncryptedSegment; §2.5, §2.6)."""
    if descriptor.compression is None and descriptor.encryption is None:
        return stored
    if len(stored) < 4:
        raise MalformedError(0, "compressed section without its length")
    length = int.from_bytes(stored[:4], "big")
    # A closing section is empty, and its block needs no decompressor (§2.5).
    if length == 0:
        return b""
    if descriptor.encryption is not None:
        key = keys[descriptor.encryption.alias.lower()]
        content = decrypt(descriptor.encryption, key, stored[4:])
    else:
        content = decompress(str(descriptor.compression), stored[4:])
    if len(content) != length:
        raise MalformedError(0, f"section decompresses to {len(content)} bytes instead of {length}")
    return content
