"""The merge rules of Cassandra as native Spark expressions: precedence of cells, and counters.

Every function maps columns to columns, and none runs in Python. Tests compare the results with a
merge in plain Python (`tests/oracle`).
"""

from spark_jobs.expressions.counter import INVALID_CONTEXT, parse_count, parse_shards
from spark_jobs.expressions.precedence import (
    EXPIRING,
    LIVE,
    PRECEDENCE,
    TOMBSTONE,
    cell_precedence,
    deletion_precedence,
    is_live,
    is_purgeable,
    liveness_precedence,
)

__all__ = [
    "EXPIRING",
    "INVALID_CONTEXT",
    "LIVE",
    "PRECEDENCE",
    "TOMBSTONE",
    "cell_precedence",
    "deletion_precedence",
    "is_live",
    "is_purgeable",
    "liveness_precedence",
    "parse_count",
    "parse_shards",
]
