"""Sends changes to a topic. After a crash it skips the messages that the topic has."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from spark_jobs.changes.envelope import PublishedTable, envelopes
from spark_jobs.changes.journal import BegunBatch
from spark_jobs.changes.kafka_topic import KafkaTopic
from spark_jobs.changes.messages import ToBytes, in_order, messages
from spark_jobs.changes.unsent import unsent


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encodes keys and values."""

    key: ToBytes
    value: ToBytes


class KafkaSink:
    """The topic of one table."""

    def __init__(
        self,
        topic: KafkaTopic,
        table: PublishedTable,
        encoding: Callable[[StructType], Encoding],
        *,
        has_tombstones: bool | None,
    ) -> None:
        """`encoding` returns that of rows of a type. `has_tombstones` None: where the topic is
        compacted."""
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
        found = messages(
            envelopes(
                changes,
                self._table,
                batch.after,
                is_snapshot=batch.before is None,
                now_us=time.time_ns() // 1000,
            ),
            encoding.key,
            encoding.value,
            has_tombstones=has_tombstones,
        )
        if is_resumed:
            sent = self._topic.sent_after(batch.end_offsets)
            found = found if sent is None else unsent(found, sent)
        self._topic.write(in_order(found))
