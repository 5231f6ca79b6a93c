"""Kafka messages of changes: key, value, headers and order."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

ToBytes = Callable[[Column, StructType], Column]
"""Encodes a struct of this type."""
IS_TOMBSTONE = "is_tombstone"
ORDER = ("token", "cdc_row_id", "seq", IS_TOMBSTONE)
"""The columns that order the messages of a row. Rows have no order among each other."""
MESSAGE = ("key", "value", "headers")


def messages(
    envelopes: DataFrame, key_bytes: ToBytes, value_bytes: ToBytes, *, has_tombstones: bool
) -> DataFrame:
    """The messages of `spark_jobs.changes.envelope.envelopes`: `MESSAGE`, `ORDER` and `id`.

    With `has_tombstones` a message without a value follows each deletion, so that a compacted
    topic forgets the key.
    """
    types = {field.name: field.dataType for field in envelopes.schema}
    key_type, value_type = types["key"], types["value"]
    assert isinstance(key_type, StructType) and isinstance(value_type, StructType)
    encoded = envelopes.select(
        *ORDER[:-1],
        "id",
        key_bytes(F.col("key"), key_type).alias("key"),
        value_bytes(F.col("value"), value_type).alias("value"),
        _headers().alias("headers"),
        _tombstones(has_tombstones=has_tombstones).alias("tombstones"),
    )
    each = encoded.select("*", F.explode("tombstones").alias(IS_TOMBSTONE)).drop("tombstones")
    return each.withColumn("value", F.when(~F.col(IS_TOMBSTONE), F.col("value")))


def in_order(messages: DataFrame) -> DataFrame:
    """Messages with all changes of a row in one task, in their order."""
    return messages.repartition("token").sortWithinPartitions(*ORDER)


def _tombstones(*, has_tombstones: bool) -> Column:
    """The messages of a change: false for its event, true for its tombstone."""
    event = F.array(F.lit(False))
    if not has_tombstones:
        return event
    return F.when(F.col("op") == "d", F.array(F.lit(False), F.lit(True))).otherwise(event)


def _headers() -> Column:
    values = {
        "cdc.id": F.col("id"),
        "cdc.ts_us": F.col("ts_us").cast("string").cast("binary"),
        "cdc.kind": F.lit(b"row"),
        "cdc.cause": F.col("cause").cast("binary"),
    }
    return F.array(
        *(
            F.struct(F.lit(name).alias("key"), value.alias("value"))
            for name, value in values.items()
        )
    )


_IS_SENT = "_is_sent"
_PLACE = ("seq", IS_TOMBSTONE)


def unsent(messages: DataFrame, sent: DataFrame) -> DataFrame:
    """For each row, its messages from the first one that is not in `sent`.

    A message after a missing one is sent again even if the topic has it. Otherwise the last message
    of a row would not be its last change.
    """
    known = sent.withColumn(_IS_SENT, F.lit(True))
    marked = messages.join(known, ["id", IS_TOMBSTONE], "left")
    place = F.struct(*_PLACE)
    missing = F.when(F.col(_IS_SENT).isNull(), place)
    first = F.min(missing).over(Window.partitionBy("token", "cdc_row_id"))
    found = marked.withColumn("_first", first)
    return found.where(F.struct(*_PLACE) >= F.col("_first")).drop(_IS_SENT, "_first")
