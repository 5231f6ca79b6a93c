"""A slow, plain reader of Cassandra commit-log segments: the second opinion beside the parser.

It implements the commit-log format notes, one file for each subject. Versions 6 to 9,
in every framing.

    schema = parse_schema(Path("schema.cql").read_text())
    for update in read_segment(path, "CommitLog-7-1699.log", schema):
        print(to_line(update))
"""

from tests.oracle.reference.errors import (
    CorruptSegmentError,
    SegmentError,
    StaleSchemaError,
    UnsupportedSegmentError,
)
from tests.oracle.reference.line import to_line
from tests.oracle.reference.model import Update
from tests.oracle.reference.schema import Schema, Table
from tests.oracle.reference.schema_text import parse_schema
from tests.oracle.reference.segment import read_segment

__all__ = [
    "CorruptSegmentError",
    "Schema",
    "SegmentError",
    "StaleSchemaError",
    "Table",
    "UnsupportedSegmentError",
    "Update",
    "parse_schema",
    "read_segment",
    "to_line",
]
