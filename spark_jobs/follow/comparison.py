"""The changes of a table whose schema changed: all rows before and after, joined."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

_US = 1_000_000


def compared(earlier: DataFrame, later: DataFrame, second: int) -> DataFrame:
    """The net changes from one first fill to another, with the columns of the later one.

    Both have the columns of `Merger.changes_schema`, with other types of `after`. The values of
    columns that the later one lacks, or has with another type, are null in `before`. The write
    times of the changes are this second.
    """
    after_type = later.schema["after"].dataType
    assert isinstance(after_type, StructType)
    before = earlier.where(F.col("after").isNotNull()).select(
        "cdc_row_id",
        F.col("token").alias("_token"),
        F.col("ck").alias("_ck"),
        _fitted(earlier, after_type).alias("_before"),
    )
    joined = before.join(later.where(F.col("after").isNotNull()), "cdc_row_id", "full")
    was, now = F.col("_before"), F.col("after")
    # Spark cannot compare maps.
    op = (
        F.when(was.isNull(), "c")
        .when(now.isNull(), "d")
        .when(F.to_json(was) != F.to_json(now), "u")
    )
    has_op = op.isNotNull()
    changes = joined.select(
        "cdc_row_id",
        F.coalesce("token", "_token").alias("token"),
        F.coalesce("ck", "_ck").alias("ck"),
        F.lit(0).alias("seq"),
        F.lit(True).alias("is_last"),
        was.isNotNull().alias("existed"),
        op.alias("op"),
        F.when(has_op, "write").alias("cause"),
        F.when(has_op, F.lit(second * _US)).cast("bigint").alias("ts_us"),
        F.when(has_op, was).alias("before"),
        F.when(has_op, now).alias("after"),
        "next_expiry_s",
    )
    return changes.where(has_op | F.col("next_expiry_s").isNotNull()).select(*later.columns)


def _fitted(rows: DataFrame, wanted: StructType) -> Column:
    """The struct `after` of `rows` with these fields."""
    found = rows.schema["after"].dataType
    assert isinstance(found, StructType)
    types = {field.name: field.dataType for field in found}
    fields = [
        F.col("after")[field.name].alias(field.name)
        if types.get(field.name) == field.dataType
        else F.lit(None).cast(field.dataType).alias(field.name)
        for field in wanted
    ]
    return F.struct(*fields)
