"""The chain of sync sections behind the header (format notes §2)."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import lz4
from .descriptor import Descriptor, id_words
from .errors import CorruptSegmentError, MalformedError, UnsupportedSegmentError

MARKER_LENGTH = 8

DECOMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"LZ4Compressor": lz4.decompress}


@dataclass(frozen=True, slots=True)
class Section:
    """What one sync of the node closed.

    `marker` and `file_end` are file offsets; `start` is the logical position of the first content
    byte and `end` the logical position behind the last one (§2.3). For plain segments both kinds
    of position are the same numbers.
    """

    marker: int
    file_end: int
    start: int
    content: bytes

    @property
    def end(self) -> int:
        """Logical position of the section's end: what a CDC index file holds."""
        return self.start + len(self.content)


def read_sections(data: bytes, descriptor: Descriptor) -> Iterator[Section]:
    """The sections that are chained from the header, in file order.

    Ends at a marker of zeros or where no marker fits; whatever stands behind is never looked at.
    Raises CorruptSegmentError for a broken chain. Source: CommitLogSegmentReader; §2.1, §2.2.
    """
    segment = descriptor.segment
    if descriptor.compression is not None and descriptor.compression not in DECOMPRESSORS:
        raise UnsupportedSegmentError(segment, 14, f"compressed with {descriptor.compression}")
    marker = logical = descriptor.header_length
    while marker + MARKER_LENGTH <= len(data):
        words = data[marker : marker + MARKER_LENGTH]
        if words == bytes(MARKER_LENGTH):
            return
        end = int.from_bytes(words[:4], "big")
        covered = id_words(descriptor.id) + marker.to_bytes(4, "big")
        if zlib.crc32(covered).to_bytes(4, "big") != words[4:]:
            raise CorruptSegmentError(segment, marker, "marker checksum does not match")
        # The checksum does not cover the end, so nothing else guards it.
        if not marker + MARKER_LENGTH <= end <= len(data):
            raise CorruptSegmentError(
                segment, marker, f"section ends at {end}, the file at {len(data)}"
            )
        stored = data[marker + MARKER_LENGTH : end]
        try:
            content = stored if descriptor.compression is None else _inflate(stored, descriptor)
        except MalformedError as error:
            raise CorruptSegmentError(segment, marker, error.what) from error
        section = Section(marker, end, logical + MARKER_LENGTH, content)
        yield section
        marker, logical = end, section.end


def _inflate(stored: bytes, descriptor: Descriptor) -> bytes:
    """The content of a compressed section: its length, then one block (CompressedSegment; §2.5)."""
    if len(stored) < 4:
        raise MalformedError(0, "compressed section without its length")
    length = int.from_bytes(stored[:4], "big")
    # A closing section is empty, and its block is not worth a decompressor (§2.5).
    if length == 0:
        return b""
    content = DECOMPRESSORS[str(descriptor.compression)](stored[4:])
    if len(content) != length:
        raise MalformedError(0, f"section decompresses to {len(content)} bytes instead of {length}")
    return content
