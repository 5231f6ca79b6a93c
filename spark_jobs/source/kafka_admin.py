"""End offsets and settings of topics, through Kafka's Java client in the driver."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

_POLICY = "cleanup.policy"


def end_offsets(
    session: SparkSession, settings: Mapping[str, str], topics: Iterable[str]
) -> dict[str, dict[int, int]]:
    """The offset after the last record of each partition, of the topics that exist.

    `settings` are those of Kafka's client, such as `bootstrap.servers`.
    """
    jvm: Any = session.sparkContext._jvm
    kafka = jvm.org.apache.kafka
    with _admin(jvm, settings) as admin:
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


def cleanup_policy(
    session: SparkSession, settings: Mapping[str, str], topic: str
) -> frozenset[str] | None:
    """`cleanup.policy` of a topic, such as `compact`; None if the topic does not exist.

    Needs the right to describe the configuration of the topic.
    """
    jvm: Any = session.sparkContext._jvm
    config = jvm.org.apache.kafka.common.config
    with _admin(jvm, settings) as admin:
        if topic not in set(admin.listTopics().names().get()):
            return None
        resource = config.ConfigResource(config.ConfigResource.Type.TOPIC, topic)
        found = admin.describeConfigs([resource]).all().get()[resource]
        return frozenset(found.get(_POLICY).value().split(","))


@contextmanager
def _admin(jvm: Any, settings: Mapping[str, str]) -> Iterator[Any]:
    properties = jvm.java.util.Properties()
    for name, value in settings.items():
        properties.put(name, value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        yield admin
    finally:
        admin.close()
