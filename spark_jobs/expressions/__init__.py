"""The algebra of `spark_jobs.win` as native Spark expressions.

Every function takes and gives columns; none of them runs in Python. That they say the same as
`spark_jobs.win` is held by tests/integration/spark.
"""

from spark_jobs.expressions.counter import NO_TOTALS, count_of, shards_of
from spark_jobs.expressions.win import (
    EXPIRING,
    LIVE,
    TOMBSTONE,
    WIN,
    is_live,
    is_past,
    win_of_cell,
    win_of_deletion,
    win_of_liveness,
)

__all__ = [
    "EXPIRING",
    "LIVE",
    "NO_TOTALS",
    "TOMBSTONE",
    "WIN",
    "count_of",
    "is_live",
    "is_past",
    "shards_of",
    "win_of_cell",
    "win_of_deletion",
    "win_of_liveness",
]
