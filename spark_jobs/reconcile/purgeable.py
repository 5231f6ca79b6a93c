"""Removes versions that no longer affect any read: old deletions and the versions they cover."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.expressions.precedence import is_purgeable
from spark_jobs.reconcile.tombstone_ranges import range_steps, with_truncation, write_ts
from spark_jobs.reconcile.versions import COLUMNS, PARTITION, latest


def drop_purgeable(versions: DataFrame, before_s: int) -> DataFrame:
    """One version of each place, in the order of places within a bucket.

    Drops deletions, tombstones and expired cells from before this second, and all versions that
    any deletion covers. A deletion never goes before the versions that it covers, or they would
    become visible again. `versions` may contain any number of versions of a place.
    """
    covered_to = F.greatest("table_ts", "partition_ts", "range_ts", "row_ts", "complex_ts")
    is_covered = F.col("scope").isin("cell", "live", "shard") & (
        write_ts(F.col("scope"), F.col("win")) <= covered_to
    )
    is_dropped = F.coalesce(is_covered, F.lit(False)) | F.coalesce(
        is_purgeable(F.col("win"), F.lit(before_s)), F.lit(False)
    )
    return _with_deletions(versions).where(~is_dropped).select(*COLUMNS)


def _with_deletions(versions: DataFrame) -> DataFrame:
    """Each version with the write times of the latest deletions that cover its place."""
    with_steps = versions.select(*COLUMNS).unionByName(
        range_steps(versions), allowMissingColumns=True
    )
    partition = Window.partitionBy(*PARTITION)
    row = Window.partitionBy(*PARTITION, "ck")
    column = Window.partitionBy(*PARTITION, "ck", "column")
    is_step = F.col("scope") == "step"
    # Rows with an equal `ck` are peers, so a step applies to all versions at its `ck`.
    up_to = partition.orderBy(F.col("ck").asc_nulls_first()).rangeBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    step = F.last(F.when(is_step, F.struct("win.ts")), ignorenulls=True).over(up_to)["ts"]
    is_in_row = F.col("ck").isNotNull()
    found = (
        latest(with_steps.repartition("table", "bucket"))
        .withColumn("partition_ts", _latest_ts("partition").over(partition))
        .withColumn("row_ts", F.when(is_in_row, _latest_ts("row").over(row)))
        .withColumn("complex_ts", _latest_ts("complex").over(column))
        .withColumn("range_ts", F.when(is_in_row, step))
        .where(~is_step)
    )
    return with_truncation(found, versions)


def _latest_ts(scope: str) -> Column:
    return F.max(F.when(F.col("scope") == scope, F.col("win.ts")))
