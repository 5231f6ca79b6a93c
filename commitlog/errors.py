"""Parser exceptions.

    CommitLogError
    ├── CorruptSegmentError      the segment header cannot be read
    ├── ForeignFileError         the file is not the segment that its name claims
    ├── UnsupportedFeatureError  the version, compressor or cipher is unknown
    ├── SegmentKeyError          the key of an encrypted segment is missing or wrong
    ├── SchemaError              a schema text or schema rows are invalid
    └── MalformedValueError      the bytes of a value do not fit its column type

Damage inside a segment raises no exception; the batch reports it as a `Gap`.
"""


class CommitLogError(Exception):
    """Base class of the parser's exceptions."""


class CorruptSegmentError(CommitLogError):
    """The segment header cannot be read. The message contains the file name and the cause."""


class ForeignFileError(CommitLogError):
    """The file is not the segment that its name claims: its header contains a different id, its
    content was replaced, or it is too large. The message contains the file name and the cause."""


class UnsupportedFeatureError(CommitLogError):
    """The parser does not support the segment's version, compressor or cipher."""


class SegmentKeyError(CommitLogError):
    """The key of an encrypted segment is missing or wrong. The message contains its alias.

    No record has been read, so a later read with the correct key loses nothing."""

    def __init__(self, message: str, alias: str) -> None:
        super().__init__(message)
        self.alias = alias


class SchemaError(CommitLogError):
    """A schema text or schema rows are invalid. For a text, the message contains the line."""


class MalformedValueError(CommitLogError):
    """The bytes of a value do not fit its column type.

    Usually the schema is older or newer than the write."""
