"""Exceptions of the parser.

    CommitLogError
    ├── CorruptSegmentError      the header of a segment cannot be read
    ├── ForeignFileError         a file is not the segment that its name claims
    ├── UnsupportedFeatureError  an unknown version, compressor or cipher
    ├── SegmentKeyError          the key of an encrypted segment is missing or wrong
    ├── SchemaError              a schema text or schema rows are invalid
    └── MalformedValueError      the bytes of a value do not fit the type of its column

Damage inside a segment raises no exception: the batch has a `Gap`.
"""


class CommitLogError(Exception):
    """Base class of the parser's exceptions."""


class CorruptSegmentError(CommitLogError):
    """The header of a segment cannot be read; the message names the file and the cause."""


class ForeignFileError(CommitLogError):
    """A file is not the segment that its name claims: another id in its header, another content
    than before, or too large for a segment. The message names the file and the cause."""


class UnsupportedFeatureError(CommitLogError):
    """The segment has a version, compressor or cipher that the parser does not support."""


class SegmentKeyError(CommitLogError):
    """The key of an encrypted segment is missing or wrong; the message names segment and alias.

    Nothing of the segment was read, so a read with the right key loses nothing."""

    def __init__(self, message: str, alias: str) -> None:
        super().__init__(message)
        self.alias = alias


class SchemaError(CommitLogError):
    """A schema text or schema rows are invalid; the message names the line."""


class MalformedValueError(CommitLogError):
    """The bytes of a value do not fit the type of its column.

    The message names column, row and type. Usually the schema is older or newer than the write."""
