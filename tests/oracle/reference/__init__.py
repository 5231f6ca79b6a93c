"""A slow, plain reader of Cassandra commit-log segments: the second opinion beside the parser.

It is the commit-log format notes in executable form, one file for each thing, with nothing but the
standard library. Versions 6 to 9, plain and LZ4.

    schema = parse_schema(Path("schema.cql").read_text())
    for update in read_segment(path, "CommitLog-7-1699.log", schema):
        print(to_line(update))
"""

from .cql_text import SchemaTextError
from .errors import CorruptSegmentError, SegmentError, StaleSchemaError, UnsupportedSegmentError
from .line import to_line
from .model import Update
from .schema import Schema, Table
from .schema_text import parse_schema
from .segment import read_segment

__all__ = [
    "CorruptSegmentError",
    "Schema",
    "SchemaTextError",
    "SegmentError",
    "StaleSchemaError",
    "Table",
    "UnsupportedSegmentError",
    "Update",
    "parse_schema",
    "read_segment",
    "to_line",
]
