"""Range deletions of a partition as steps along its clusterings."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.expressions import WIN

PARTITION = ("table", "bucket", "token", "pk")


def written_ts(scope: Column, win: Column) -> Column:
    """Write time; a shard's `ts` is its clock."""
    return F.when(scope == "shard", win["ldt"]).otherwise(win["ts"])


def steps(versions: DataFrame) -> DataFrame:
    """From each end of a range on: up to which write time everything is deleted, if it is."""
    of_partition = versions.where(F.col("scope") == "range").groupBy(*PARTITION)
    ranges = F.collect_list(F.struct(F.col("ck").alias("lo"), "hi", F.col("win.ts").alias("ts")))

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


def _win(ts: Column) -> Column:
    return F.struct(ts, *(F.lit(None) for _ in range(4))).cast(WIN)
