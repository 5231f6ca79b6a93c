"""Errors of a segment and their positions.

```
SegmentError                 segment, position, what
├── CorruptSegmentError      the bytes contradict the format: a checksum, a length, a flag
├── UnsupportedSegmentError  a version, compressor or encryption that this reader does not know
└── StaleSchemaError         the bytes name a column that the given schema does not have
MalformedError               offset, what: raised below the level that knows the segment
```
"""


class SegmentError(Exception):
    """A segment is unreadable from `position`.

    `position` is a logical position (format notes §2.3), or a file offset for parts outside of
    sections: the header and the markers.
    """

    def __init__(self, segment: str, position: int, what: str) -> None:
        super().__init__(f"{segment}, position {position}: {what}")
        self.segment = segment
        self.position = position
        self.what = what


class CorruptSegmentError(SegmentError):
    """The bytes at `position` contradict the format."""


class UnsupportedSegmentError(SegmentError):
    """The segment's version, compressor or encryption is unknown to this reader."""


class StaleSchemaError(SegmentError):
    """The segment refers to a column that is neither a current nor a dropped one of the schema."""


class MalformedError(ValueError):
    """Bytes contradict the format at `offset` of the current buffer."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(f"byte {offset}: {what}")
        self.offset = offset
        self.what = what
