"""The rows that `SELECT *` shows at a second: applies deletions, expiry and row visibility.

One exchange by partition and one sort by clustering and place are enough. Cells are not joined with
deletions:

* The versions of a place are adjacent, and the largest is the latest.
* Cells are grouped into rows, together with the deletions of the row and its collections.
* The ranges of a partition become steps, sorted together with the rows. The last step up to a row
  gives the write time up to which ranges delete it.
* The static row is the first of its partition. It passes its values and the deletion of the
  partition to the rows.
"""

from collections.abc import Collection, Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.expressions.counter import parse_count
from spark_jobs.expressions.precedence import is_live
from spark_jobs.reconcile.tombstone_ranges import range_steps, with_truncation, write_ts
from spark_jobs.reconcile.versions import (
    COLUMNS,
    PARTITION,
    TABLE_BUCKET,
    by_partition,
    latest,
)

CELL = "STRUCT<column: STRING, path: BINARY, ts: BIGINT, ldt: BIGINT, ttl: INT, value: BINARY>"
ROW = (
    "table STRING, bucket INT, token BIGINT, pk BINARY, ck BINARY, ckv ARRAY<BINARY>,"
    f" cells ARRAY<{CELL}>, statics ARRAY<{CELL}>"
)


def visible_rows(
    versions: DataFrame,
    now_s: int | Column,
    dropped: Mapping[str, int] | None = None,
    columns: Collection[str] | None = None,
) -> DataFrame:
    """The visible rows at a second, with their live cells.

    `versions` may contain any number of versions of a place. `dropped` maps columns to the time of
    their drop in microseconds; older cells of them are not visible. If `columns` is given, cells
    of other columns are not visible either.

    The result has the columns of `ROW`. `ck` is null in the single row of a partition that has only
    static values. `cells` and `statics` are unordered. `value` of a counter is the sum, in eight
    bytes.
    """
    second = F.lit(now_s) if isinstance(now_s, int) else now_s
    in_partitions = versions.select(*COLUMNS).where(F.col("bucket") != TABLE_BUCKET)
    of_rows = in_partitions.where(_is_of_rows(columns))
    with_steps = of_rows.unionByName(range_steps(in_partitions), allowMissingColumns=True)
    effective = latest(by_partition(with_steps)).where(_is_effective(second, dropped or {}))
    return _visible(with_truncation(_with_coverage(_rows(effective)), versions))


def _is_of_rows(columns: Collection[str] | None) -> Column:
    """Whether a version is neither a range, which has steps instead, nor of another column."""
    scope = F.col("scope")
    is_wanted = scope != "range"
    if columns is not None:
        is_wanted &= ~scope.isin("cell", "shard") | F.col("column").isin(*columns)
    return is_wanted


def _is_effective(now_s: Column, dropped: Mapping[str, int]) -> Column:
    """Whether a version is not expired, not a tombstone and not of a dropped column."""
    scope, win = F.col("scope"), F.col("win")
    is_kept = ~scope.isin("cell", "live") | is_live(win, now_s)
    for column, ts_us in dropped.items():
        is_kept &= ~(
            F.col("column").eqNullSafe(column)
            & scope.isin("cell", "shard")
            & (write_ts(scope, win) <= ts_us)
        )
    return is_kept


def _rows(versions: DataFrame) -> DataFrame:
    """Rows and static rows (`ck` is null), before deletions are applied."""
    scope, win = F.col("scope"), F.col("win")

    def latest_ts(name: str) -> Column:
        return F.max(F.when(scope == name, win["ts"]))

    cell = F.struct(
        "column",
        F.coalesce(win["path"], F.col("path")).alias("path"),
        write_ts(scope, win).alias("ts"),
        F.when(scope == "cell", win["ldt"]).alias("ldt"),
        (-win["neg_ttl"]).alias("ttl"),
        win["value"].alias("value"),
    )
    return versions.groupBy(*PARTITION, "ck").agg(
        F.collect_list(F.when(scope.isin("cell", "shard"), cell)).alias("cells"),
        F.collect_list(F.when(scope == "complex", F.struct("column", win["ts"].alias("ts")))).alias(
            "complex"
        ),
        F.max(F.when(scope == "step", F.struct(win["ts"].alias("ts")))).alias("step"),
        latest_ts("live").alias("live_ts"),
        latest_ts("row").alias("row_ts"),
        latest_ts("partition").alias("partition_ts"),
        F.max(scope == "shard").alias("has_shards"),
        F.min("ckv").alias("ckv"),
    )


def _with_coverage(rows: DataFrame) -> DataFrame:
    """Rows with the deletions of ranges and partitions, and with their static row."""
    in_order = Window.partitionBy(*PARTITION).orderBy(F.col("ck").asc_nulls_first())
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    static = F.when(F.col("ck").isNull(), F.struct("cells", "complex", "has_shards"))
    return (
        rows.withColumn("range_ts", F.last("step", ignorenulls=True).over(so_far)["ts"])
        .withColumn("partition_ts", F.max("partition_ts").over(so_far))
        .withColumn("static", F.first(static, ignorenulls=True).over(so_far))
    )


def _visible(rows: DataFrame) -> DataFrame:
    """The rows with an INSERT or a live cell, and static rows of partitions without rows."""
    of_partition = F.greatest("partition_ts", "table_ts")
    of_row = F.greatest("partition_ts", "table_ts", "range_ts", "row_ts")
    is_row = F.col("ck").isNotNull()
    no_cells = F.array().cast(f"array<{CELL}>")
    static = F.col("static")
    is_inserted = F.col("live_ts").isNotNull() & ~_covers(of_row, F.col("live_ts"))
    has_cells = F.size("cells") > 0
    return (
        rows.select(
            *PARTITION,
            "ck",
            "ckv",
            F.when(is_row, _surviving(F.struct("cells", "complex", "has_shards"), of_row))
            .otherwise(no_cells)
            .alias("cells"),
            F.coalesce(_surviving(static, of_partition), no_cells).alias("statics"),
            is_inserted.alias("is_inserted"),
        )
        .withColumn("is_there", is_row & (F.col("is_inserted") | has_cells))
        .withColumn("has_rows", F.max("is_there").over(Window.partitionBy(*PARTITION)))
        .where(F.col("is_there") | (~is_row & ~F.col("has_rows") & (F.size("statics") > 0)))
        .select(*PARTITION, "ck", "ckv", "cells", "statics")
    )


def _covers(deleted_to: Column, ts: Column) -> Column:
    return F.coalesce(ts <= deleted_to, F.lit(False))


def _surviving(row: Column, deleted_to: Column) -> Column:
    """The cells that no deletion covers, with counters summed."""

    def is_uncovered(cell: Column) -> Column:
        return ~_covers(deleted_to, cell["ts"]) & ~F.exists(
            row["complex"],
            lambda each: (each["column"] == cell["column"]) & (each["ts"] >= cell["ts"]),
        )

    surviving = F.filter(row["cells"], is_uncovered)
    return F.when(row["has_shards"], _summed(surviving)).otherwise(surviving)


def _summed(shards: Column) -> Column:
    """One cell for each counter: the sum of its shards, with the latest write time."""

    def counter(column: Column) -> Column:
        of_column = F.filter(shards, lambda shard: shard["column"] == column)
        total = F.aggregate(
            of_column,
            F.lit(0).cast("bigint"),
            lambda so_far, shard: so_far + parse_count(shard["value"]),
        )
        return F.struct(
            column.alias("column"),
            F.lit(None).cast("binary").alias("path"),
            F.array_max(F.transform(of_column, lambda shard: shard["ts"])).alias("ts"),
            F.lit(None).cast("bigint").alias("ldt"),
            F.lit(None).cast("int").alias("ttl"),
            F.unhex(F.lpad(F.hex(total), 16, "0")).alias("value"),
        )

    return F.transform(
        F.array_distinct(F.transform(shards, lambda shard: shard["column"])), counter
    )
