"""The effect of range tombstones and truncations on rows.

Ranges become steps along the clusterings. A truncation becomes a column of each row.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.expressions.precedence import PRECEDENCE
from spark_jobs.reconcile.versions import PARTITION, TABLE_BUCKET


def write_ts(scope: Column, precedence: Column) -> Column:
    """The write time of a version. A shard has its clock in `ts` and its write time in `ldt`."""
    return F.when(scope == "shard", precedence["ldt"]).otherwise(precedence["ts"])


def range_steps(versions: DataFrame) -> DataFrame:
    """The steps of range tombstones: a version of the scope `step` for each end of a range.

    From its `ck` to the `ck` of the next step, everything up to the write time of the step is
    deleted. A null write time means that no range covers this interval. `versions` may contain
    any number of versions of a range.
    """
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
            _step_precedence(F.col("step.ts")).alias("win"),
        )
    )


def with_truncation(rows: DataFrame, versions: DataFrame) -> DataFrame:
    """Rows with the column `table_ts`: the write time up to which their table was truncated."""
    # One row with a map. Spark would plan a join by table twice to prune partitions.
    markers = (
        versions.where(F.col("bucket") == TABLE_BUCKET)
        .groupBy("table")
        .agg(F.max("win.ts").alias("ts"))
        .agg(F.map_from_entries(F.collect_list(F.struct("table", "ts"))).alias("truncated"))
    )
    return rows.crossJoin(F.broadcast(markers)).withColumn(
        "table_ts", F.col("truncated")[F.col("table")]
    )


def _step_precedence(ts: Column) -> Column:
    return F.struct(ts, *(F.lit(None) for _ in range(5))).cast(PRECEDENCE)
