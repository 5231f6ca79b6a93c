"""Apache Cassandra commit-log segments: a fast parser and the change events in them."""

from commitlog._commitlog import (
    Blocked,
    CounterHistory,
    Descriptor,
    EventBatch,
    EventFormat,
    Gap,
    Lost,
    Scan,
    Schema,
    SchemaChanges,
    SegmentReader,
    Table,
    Verification,
    __version__,
    read_descriptor,
)
from commitlog.errors import (
    CommitLogError,
    CorruptSegmentError,
    SchemaError,
    SegmentKeyError,
    UnsupportedFeatureError,
)

__all__ = [
    "Blocked",
    "CommitLogError",
    "CorruptSegmentError",
    "CounterHistory",
    "Descriptor",
    "EventBatch",
    "EventFormat",
    "Gap",
    "Lost",
    "Scan",
    "Schema",
    "SchemaChanges",
    "SchemaError",
    "SegmentKeyError",
    "SegmentReader",
    "Table",
    "UnsupportedFeatureError",
    "Verification",
    "__version__",
    "read_descriptor",
]
