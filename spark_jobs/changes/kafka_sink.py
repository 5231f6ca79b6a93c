"""Sends changes to a topic. After a crash, it skips messages that the topic already contains."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.changes.envelope import PublishedTable, envelopes
from spark_jobs.changes.handler import BegunBatch, ChangeSink
from spark_jobs.source.kafka import read_cleanup_policy, read_end_offsets

ToBytes = Callable[[Column, StructType], Column]
"""Encodes a struct column of the given type."""
IS_TOMBSTONE = "is_tombstone"
ORDER = ("token", "cdc_row_id", "seq", IS_TOMBSTONE)
"""The columns that order the messages of a row. Messages of different rows have no order."""
MESSAGE = ("key", "value", "headers")
_IS_SENT = "_is_sent"
_PLACE = ("seq", IS_TOMBSTONE)
_EARLIEST = -2


def messages(
    envelopes: DataFrame, key_bytes: ToBytes, value_bytes: ToBytes, *, has_tombstones: bool
) -> DataFrame:
    """Encode envelopes as messages with the columns `MESSAGE`, `ORDER` and `id`.

    With `has_tombstones`, a message without a value follows each deletion, so that a compacted
    topic drops the key.
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
    """Put all messages of a row into one task, in order."""
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


def unsent(messages: DataFrame, sent: DataFrame) -> DataFrame:
    """For each row, keep the messages from the first one that is not in `sent`.

    Later messages are sent again even if the topic contains them. Otherwise, the last message of a
    row might not be its latest change.
    """
    known = sent.withColumn(_IS_SENT, F.lit(True))
    marked = messages.join(known, ["id", IS_TOMBSTONE], "left")
    place = F.struct(*_PLACE)
    missing = F.when(F.col(_IS_SENT).isNull(), place)
    first = F.min(missing).over(Window.partitionBy("token", "cdc_row_id"))
    found = marked.withColumn("_first", first)
    return found.where(F.struct(*_PLACE) >= F.col("_first")).drop(_IS_SENT, "_first")


class KafkaTopic:
    """A topic, which may not exist yet."""

    def __init__(self, session: SparkSession, name: str, settings: Mapping[str, str]) -> None:
        """`settings` are options of Spark's Kafka sink, such as `kafka.bootstrap.servers`."""
        self._session = session
        self._name = name
        self._settings = dict(settings)

    def end_offsets(self) -> dict[int, int]:
        """The end offset of each partition. Empty if the topic does not exist."""
        return read_end_offsets(self._session, self._client(), [self._name]).get(self._name, {})

    def is_compacted(self) -> bool:
        """Whether `cleanup.policy` contains `compact`. True if the topic does not exist yet."""
        policy = read_cleanup_policy(self._session, self._client(), self._name)
        return policy is None or "compact" in policy

    def write(self, messages: DataFrame) -> None:
        """Send `key`, `value` and `headers` of messages. Each task keeps its order."""
        writer = messages.select(*MESSAGE).write.format("kafka").options(**self._settings)
        writer.option("topic", self._name).save()

    def sent_after(self, offsets: Mapping[int, int]) -> DataFrame | None:
        """`id` and `is_tombstone` of the messages after these offsets; None if there are none."""
        ends = self.end_offsets()
        # A topic that was deleted and created again has smaller offsets.
        starts = {
            partition: start if (start := offsets.get(partition, _EARLIEST)) <= end else _EARLIEST
            for partition, end in ends.items()
        }
        if starts == ends:
            return None
        records = (
            self._session.read.format("kafka")
            .options(**self._settings)
            .option("assign", json.dumps({self._name: sorted(ends)}))
            .option("startingOffsets", json.dumps({self._name: starts}))
            .option("endingOffsets", json.dumps({self._name: ends}))
            .option("includeHeaders", "true")
            .option("failOnDataLoss", "false")
            .load()
        )
        first = F.get("headers", F.lit(0))
        sent = records.where(first["key"] == "cdc.id")
        found = sent.select(first["value"].alias("id"), F.col("value").isNull().alias(IS_TOMBSTONE))
        return found.distinct()

    def _client(self) -> dict[str, str]:
        return {name.removeprefix("kafka."): value for name, value in self._settings.items()}


@dataclass(frozen=True, slots=True)
class Encoding:
    key: ToBytes
    value: ToBytes


class KafkaSink(ChangeSink):
    """The topic of one table."""

    def __init__(
        self,
        topic: KafkaTopic,
        table: PublishedTable,
        encoding: Callable[[StructType], Encoding],
        *,
        has_tombstones: bool | None,
    ) -> None:
        """`encoding` returns the encoding for a row type. If `has_tombstones` is None, only
        compacted topics get tombstones."""
        self._topic = topic
        self._table = table
        self._encoding = encoding
        self._has_tombstones = has_tombstones

    def end_offsets(self) -> dict[int, int]:
        return self._topic.end_offsets()

    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        row = changes.schema["after"].dataType
        assert isinstance(row, StructType)
        encoding = self._encoding(row)
        has_tombstones = self._has_tombstones
        if has_tombstones is None:
            has_tombstones = self._topic.is_compacted()
        is_snapshot, now_us = batch.before is None, time.time_ns() // 1000
        wrapped = envelopes(
            changes, self._table, batch.after, is_snapshot=is_snapshot, now_us=now_us
        )
        found = messages(wrapped, encoding.key, encoding.value, has_tombstones=has_tombstones)
        if is_resumed:
            sent = self._topic.sent_after(batch.end_offsets)
            found = found if sent is None else unsent(found, sent)
        self._topic.write(in_order(found))
