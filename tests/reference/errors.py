"""What can be wrong with a segment, and where.

```
SegmentError            segment, position, what
├── CorruptSegment      the bytes contradict the format: a checksum, a length, a flag
├── UnsupportedSegment  the bytes are fine, this reader cannot read them (version, compressor, encryption)
└── StaleSchema         the bytes name a column that the given schema does not have
Malformed               offset, what: raised below the level that knows which segment it reads
```
"""


class SegmentError(Exception):
    """A segment cannot be read on from `position`.

    `position` is a logical position (format notes §2.3), or a file offset for what stands outside
    of sections: the header and the markers.
    """

    def __init__(self, segment: str, position: int, what: str) -> None:
        super().__init__(f"{segment}, position {position}: {what}")
        self.segment = segment
        self.position = position
        self.what = what


class CorruptSegment(SegmentError):
    """The bytes at `position` contradict the format."""


class UnsupportedSegment(SegmentError):
    """The segment has a version, a compressor or an encryption that this reader does not know."""


class StaleSchema(SegmentError):
    """The segment names a column that the schema has neither as current nor as dropped."""


class Malformed(ValueError):
    """Bytes contradict the format at `offset` of the buffer at hand."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(f"byte {offset}: {what}")
        self.offset = offset
        self.what = what
