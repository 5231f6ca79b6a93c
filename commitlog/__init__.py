"""Apache Cassandra commit-log segments: a fast parser and the change events in them."""

from commitlog._commitlog import (
    Blocked,
    Descriptor,
    EventBatch,
    EventFormat,
    Gap,
    Scan,
    Schema,
    SegmentReader,
    Table,
    __version__,
    read_descriptor,
)
from commitlog.errors import (
    CommitLogError,
    CorruptSegmentError,
    SchemaError,
    UnsupportedFeatureError,
)

__all__ = [
    "Blocked",
    "CommitLogError",
    "CorruptSegmentError",
    "Descriptor",
    "EventBatch",
    "EventFormat",
    "Gap",
    "Scan",
    "Schema",
    "SchemaError",
    "SegmentReader",
    "Table",
    "UnsupportedFeatureError",
    "__version__",
    "read_descriptor",
]
