"""The marker of a truncation, a version that deletes all earlier writes of a table.

Like any other version, it may arrive before or after the writes that it deletes.
"""

from pyspark.sql import SparkSession

from spark_jobs.expressions.precedence import TOMBSTONE
from spark_jobs.reconcile.layout.protocol import Layout
from spark_jobs.reconcile.versions import SCHEMA, TABLE_BUCKET

_US = 1_000_000


def truncate(session: SparkSession, layout: Layout, table_id: str, ts_us: int) -> None:
    """Delete all writes of the table up to a write time."""
    precedence = (ts_us, TOMBSTONE, ts_us // _US, None, None, None)
    marker = (table_id, TABLE_BUCKET, 0, None, None, "table", None, None, None, precedence, None)
    layout.write_versions(session.createDataFrame([marker], SCHEMA))
