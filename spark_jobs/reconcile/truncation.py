"""A marker that says that a source table was truncated.

It is a version like any other: it deletes what was written up to its time, and may come before
those writes or after them.
"""

from pyspark.sql import SparkSession

from spark_jobs.expressions import TOMBSTONE
from spark_jobs.reconcile.layout import Layout
from spark_jobs.reconcile.versions import SCHEMA, TABLE_BUCKET

_US = 1_000_000


def truncate(session: SparkSession, layout: Layout, table_id: str, ts_us: int) -> None:
    """Everything of the table that was written up to then is gone."""
    win = (ts_us, TOMBSTONE, ts_us // _US, None, None, None)
    marker = (table_id, TABLE_BUCKET, 0, None, None, "table", None, None, None, win, None)
    layout.append(session.createDataFrame([marker], SCHEMA))
