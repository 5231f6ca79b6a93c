"""Rows of a typed table against those that the version store shows, with Spark's own expressions.

Rows are compared by `cdc_row_id`, first by digests of hash buckets.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.column_names import ROW_ID
from spark_jobs.compare.report import TargetCause
from spark_jobs.follow.comparison import comparable
from spark_jobs.tables.columns import Columns, quoted

FINDING = ("cause", "key", "columns", "token", ROW_ID)
"""Columns of a row that differs. `token` is null if the store does not show the row."""


@dataclass(frozen=True, slots=True)
class BucketDigest:
    rows: int
    hash: int
    next_expiry_s: int | None = field(default=None, compare=False)
    """The next second at which a value expires."""


def shown_rows(changes: DataFrame, columns: Columns) -> DataFrame:
    """`cdc_row_id`, `row`, `token` and `next_expiry_s` of a first fill of `Merger.changes`."""
    after = F.col("after")
    row = F.struct(*(after[name].cast(kind).alias(name) for name, kind in columns.items()))
    return changes.where(F.col("op").isNotNull() & after.isNotNull()).select(
        ROW_ID, row.alias("row"), "token", "next_expiry_s"
    )


def typed_rows(table: DataFrame, columns: Columns) -> DataFrame:
    """As `shown_rows`, of a typed table, which has neither tokens nor expiries."""
    return table.select(
        ROW_ID,
        F.struct(*(F.col(quoted(name)) for name in columns)).alias("row"),
        *(F.lit(None).cast("long").alias(name) for name in ("token", "next_expiry_s")),
    )


def bucket_digests(rows: DataFrame, buckets: int, kind: StructType) -> dict[int, BucketDigest]:
    """The digests of buckets that have rows, by number."""
    hashed = F.xxhash64(ROW_ID, comparable(F.col("row"), kind))
    found = (
        rows.select(_bucket(buckets).alias("bucket"), hashed.alias("hash"), "next_expiry_s")
        .groupBy("bucket")
        .agg(F.count(F.lit(1)), F.bit_xor("hash"), F.min("next_expiry_s"))
    )
    return {row[0]: BucketDigest(row[1], row[2], row[3]) for row in found.collect()}


def in_buckets(rows: DataFrame, buckets: int, some: Collection[int]) -> DataFrame:
    return rows.where(_bucket(buckets).isin(*sorted(some)))


def differences(
    shown: DataFrame, typed: DataFrame, kind: StructType, keys: Sequence[str]
) -> DataFrame:
    """The rows that differ, with the columns `FINDING`."""
    typed = typed.groupBy(ROW_ID).agg(F.first("row").alias("row"), F.count(F.lit(1)).alias("times"))
    shown = shown.select(ROW_ID, "row", "token")
    both = shown.alias("s").join(typed.alias("t"), ROW_ID, "full")
    ours, theirs = F.col("s.row"), F.col("t.row")
    others = {
        each.name: ~comparable(ours[each.name], each.dataType).eqNullSafe(
            comparable(theirs[each.name], each.dataType)
        )
        for each in kind.fields
    }
    cause = (
        F.when(theirs.isNull(), TargetCause.MISSING_ROW.value)
        .when(ours.isNull(), TargetCause.EXTRA_ROW.value)
        .when(F.col("times") > 1, TargetCause.REPEATED_ROW.value)
        .when(reduce(or_, others.values()), TargetCause.OTHER_VALUE.value)
    )
    names = F.array_compact(F.array(*(F.when(is_other, name) for name, is_other in others.items())))
    is_other = cause == TargetCause.OTHER_VALUE.value
    return both.select(
        cause.alias("cause"),
        key_text(F.coalesce(ours, theirs), keys).alias("key"),
        F.when(is_other, F.array_join(names, ", ")).otherwise("").alias("columns"),
        "token",
        ROW_ID,
    ).where(F.col("cause").isNotNull())


def later_changes(changes: DataFrame, read_from_us: int, keys: Sequence[str]) -> DataFrame:
    """The rows that the store changed after the position of a typed table, with the columns
    `FINDING`. `changes` are those of `Merger.changes`."""
    cause = (
        F.when(F.col("ts_us") < read_from_us, TargetCause.NOT_THERE_YET.value)
        .when(F.col("cause") == "expiry", TargetCause.EXPIRED.value)
        .otherwise(TargetCause.WRITTEN_AFTER.value)
    )
    return changes.where(F.col("op").isNotNull()).select(
        cause.alias("cause"),
        key_text(F.coalesce("after", "before"), keys).alias("key"),
        F.concat(F.lit("op "), "op", F.lit(", written at "), F.col("ts_us")).alias("columns"),
        "token",
        ROW_ID,
    )


def later_expiries(
    shown: DataFrame, second: int, read_from_us: int, keys: Sequence[str]
) -> DataFrame:
    """The rows of which a value expired after the position, up to `second`; as `later_changes`."""
    is_earlier = F.col("next_expiry_s") * 1_000_000 < read_from_us
    cause = F.when(is_earlier, TargetCause.NOT_THERE_YET.value).otherwise(TargetCause.EXPIRED.value)
    return shown.where(F.col("next_expiry_s") <= second).select(
        cause.alias("cause"),
        key_text(F.col("row"), keys).alias("key"),
        F.concat(F.lit("expired at second "), F.col("next_expiry_s")).alias("columns"),
        "token",
        ROW_ID,
    )


def key_text(row: Column, keys: Sequence[str]) -> Column:
    """The primary key as JSON."""
    return F.to_json(F.struct(*(row[name].alias(name) for name in keys)))


def _bucket(buckets: int) -> Column:
    return F.pmod(F.xxhash64(ROW_ID), F.lit(buckets)).cast("int")
