"""End offsets of topics, through Kafka's Java client in the driver."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession


def end_offsets(
    session: SparkSession, settings: Mapping[str, str], topics: Iterable[str]
) -> dict[str, dict[int, int]]:
    """The offset after the last record of each partition, of the topics that exist.

    `settings` are those of Kafka's client, such as `bootstrap.servers`.
    """
    jvm: Any = session.sparkContext._jvm
    properties = jvm.java.util.Properties()
    for name, value in settings.items():
        properties.put(name, value)
    kafka = jvm.org.apache.kafka
    admin = kafka.clients.admin.AdminClient.create(properties)
    try:
        present = set(admin.listTopics().names().get())
        wanted = [topic for topic in dict.fromkeys(topics) if topic in present]
        if not wanted:
            return {}
        described = admin.describeTopics(wanted).allTopicNames().get()
        latest = jvm.java.util.HashMap()
        for topic in wanted:
            for partition in described[topic].partitions():
                place = kafka.common.TopicPartition(topic, partition.partition())
                latest.put(place, kafka.clients.admin.OffsetSpec.latest())
        found = admin.listOffsets(latest).all().get()
        ends: dict[str, dict[int, int]] = {topic: {} for topic in wanted}
        for place in found:
            ends[place.topic()][place.partition()] = found[place].offset()
        return ends
    finally:
        admin.close()
