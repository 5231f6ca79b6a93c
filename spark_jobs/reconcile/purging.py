"""Versions without what has no more to say (`spark_jobs.win.is_purgeable`)."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.expressions import is_past
from spark_jobs.reconcile.covering import steps, with_truncation, written_ts
from spark_jobs.reconcile.versions import COLUMNS, PARTITION, standing


def without_past(versions: DataFrame, before_s: int) -> DataFrame:
    """One version of each place, without deletions, tombstones and expired cells of before this
    second and without everything that any deletion covers.

    What a deletion covers goes no later than the deletion itself, or it would be seen again. Of a
    place there may be any number of `versions`; a bucket comes out whole, in the order of places.
    """
    covered_to = F.greatest("table_ts", "partition_ts", "range_ts", "row_ts", "complex_ts")
    is_covered = F.col("scope").isin("cell", "live", "shard") & (
        written_ts(F.col("scope"), F.col("win")) <= covered_to
    )
    is_gone = F.coalesce(is_covered, F.lit(False)) | F.coalesce(
        is_past(F.col("win"), F.lit(before_s)), F.lit(False)
    )
    return _with_deletions(versions).where(~is_gone).select(*COLUMNS)


def _with_deletions(versions: DataFrame) -> DataFrame:
    """Each version beside the latest deletion of each kind that covers its place."""
    told = versions.select(*COLUMNS).unionByName(steps(versions), allowMissingColumns=True)
    partition = Window.partitionBy(*PARTITION)
    row = Window.partitionBy(*PARTITION, "ck")
    column = Window.partitionBy(*PARTITION, "ck", "column")
    is_step = F.col("scope") == "step"
    # All that has one `ck` counts as one place, so its step covers it wherever it stands in it.
    up_to = partition.orderBy(F.col("ck").asc_nulls_first()).rangeBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    step = F.last(F.when(is_step, F.struct("win.ts")), ignorenulls=True).over(up_to)["ts"]
    is_in_row = F.col("ck").isNotNull()
    beside = (
        standing(told.repartition("table", "bucket"))
        .withColumn("partition_ts", _latest("partition").over(partition))
        .withColumn("row_ts", F.when(is_in_row, _latest("row").over(row)))
        .withColumn("complex_ts", _latest("complex").over(column))
        .withColumn("range_ts", F.when(is_in_row, step))
        .where(~is_step)
    )
    return with_truncation(beside, versions)


def _latest(scope: str) -> Column:
    return F.max(F.when(F.col("scope") == scope, F.col("win.ts")))
