"""A topic through Kafka's Java client: its end offsets, and the messages after given offsets."""

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.changes.messages import IS_TOMBSTONE
from spark_jobs.source.kafka_admin import cleanup_policy, end_offsets

_EARLIEST = -2


class KafkaTopic:
    """The topic with this name, which may not exist yet."""

    def __init__(self, session: SparkSession, name: str, settings: Mapping[str, str]) -> None:
        """`settings` are options of Spark's Kafka sink, such as `kafka.bootstrap.servers`."""
        self._session = session
        self._name = name
        self._settings = dict(settings)

    def end_offsets(self) -> dict[int, int]:
        """The end offset of each partition. Empty if the topic does not exist."""
        return end_offsets(self._session, self._client(), [self._name]).get(self._name, {})

    def is_compacted(self) -> bool:
        """Whether `cleanup.policy` has `compact`; True also for a topic that does not exist yet."""
        policy = cleanup_policy(self._session, self._client(), self._name)
        return policy is None or "compact" in policy

    def write(self, messages: DataFrame) -> None:
        """Send messages with `key`, `value` and `headers`, each task in its order."""
        columns = messages.select("key", "value", "headers")
        writer = columns.write.format("kafka").options(**self._settings)
        writer.option("topic", self._name).save()

    def sent_after(self, offsets: Mapping[int, int]) -> DataFrame | None:
        """`id` and `is_tombstone` of the messages after these offsets; None if there are none."""
        ends = self.end_offsets()
        starts = {partition: offsets.get(partition, _EARLIEST) for partition in ends}
        # A topic that was deleted and created again has smaller offsets.
        starts = {
            partition: start if start <= ends[partition] else _EARLIEST
            for partition, start in starts.items()
        }
        if all(starts[partition] == end for partition, end in ends.items()):
            return None
        records = (
            self._session.read.format("kafka")
            .options(**self._settings)
            .option("assign", json.dumps({self._name: sorted(ends)}))
            .option("startingOffsets", self._offsets(starts))
            .option("endingOffsets", self._offsets(ends))
            .option("includeHeaders", "true")
            .option("failOnDataLoss", "false")
            .load()
        )
        first = F.get("headers", F.lit(0))
        sent = records.where(first["key"] == "cdc.id")
        found = sent.select(first["value"].alias("id"), F.col("value").isNull().alias(IS_TOMBSTONE))
        return found.distinct()

    def _client(self) -> dict[str, str]:
        """Settings of Kafka's client."""
        return {name.removeprefix("kafka."): value for name, value in self._settings.items()}

    def _offsets(self, by_partition: Mapping[int, int]) -> str:
        numbers = {str(partition): offset for partition, offset in by_partition.items()}
        return json.dumps({self._name: numbers})
