"""What deletions cover: ranges as steps along the clusterings, truncations beside their rows."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.expressions import WIN
from spark_jobs.reconcile.versions import PARTITION, TABLE_BUCKET


def written_ts(scope: Column, win: Column) -> Column:
    """Write time; a shard's `ts` is its clock."""
    return F.when(scope == "shard", win["ldt"]).otherwise(win["ts"])


def steps(versions: DataFrame) -> DataFrame:
    """From each end of a range on: up to which write time everything is deleted, if it is.

    A version for each end, of the scope `step` and with the end as `ck`. Of a range there may be
    any number of versions."""
    of_partition = versions.where(F.col("scope") == "range").groupBy(*PARTITION)
    ranges = F.collect_set(F.struct(F.col("ck").alias("lo"), "hi", F.col("win.ts").alias("ts")))

    def step(end: Column) -> Column:
        covering = F.filter("ranges", lambda each: (each["lo"] <= end) & (end < each["hi"]))
        ts = F.array_max(F.transform(covering, lambda each: each["ts"]))
        return F.struct(end.alias("ck"), ts.alias("ts"))

    ends = F.array_distinct(F.concat("ranges.lo", "ranges.hi"))
    return (
        of_partition.agg(ranges.alias("ranges"))
        .select(*PARTITION, F.explode(F.transform(ends, step)).alias("step"))
        .select(
            *PARTITION,
            F.lit("step").alias("scope"),
            "step.ck",
            _win(F.col("step.ts")).alias("win"),
        )
    )


def with_truncation(rows: DataFrame, versions: DataFrame) -> DataFrame:
    """Rows with the column `table_ts`: up to which write time their table was truncated."""
    # One row with a map; a join by table would be planned a second time to prune partitions.
    markers = (
        versions.where(F.col("bucket") == TABLE_BUCKET)
        .groupBy("table")
        .agg(F.max("win.ts").alias("ts"))
        .agg(F.map_from_entries(F.collect_list(F.struct("table", "ts"))).alias("truncated"))
    )
    return rows.crossJoin(F.broadcast(markers)).withColumn(
        "table_ts", F.col("truncated")[F.col("table")]
    )


def _win(ts: Column) -> Column:
    return F.struct(ts, *(F.lit(None) for _ in range(5))).cast(WIN)
