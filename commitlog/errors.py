"""Errors of the parser.

    CommitLogError
    ├── CorruptSegmentError      the header of a segment cannot be read
    ├── UnsupportedFeatureError  a version, compressor or cipher that this reader lacks
    ├── SegmentKeyError          the key of an encrypted segment is missing or another one
    ├── SchemaError              a schema text or schema rows cannot be understood
    └── MalformedValueError      the bytes of a value do not fit the type of its column

Damage inside a segment is no exception: it is a `Gap` in the batch.
"""


class CommitLogError(Exception):
    """Root of the tree."""


class CorruptSegmentError(CommitLogError):
    """The header of a segment cannot be read; the message names the file and the cause."""


class UnsupportedFeatureError(CommitLogError):
    """A version, compressor or cipher that this reader does not know."""


class SegmentKeyError(CommitLogError):
    """The key of an encrypted segment is missing or another one; the message names the segment and
    the alias. Nothing of the segment is read; with the right key all of it is."""

    def __init__(self, message: str, alias: str) -> None:
        super().__init__(message)
        self.alias = alias


class SchemaError(CommitLogError):
    """A schema text or schema rows cannot be understood; the message names the line."""


class MalformedValueError(CommitLogError):
    """The bytes of a value do not fit the type of its column; the message names column, row and
    type. The usual cause is a schema that is older or newer than the write."""
