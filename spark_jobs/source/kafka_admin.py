"""Ids, end offsets and settings of topics, through Kafka's Java client in the driver."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from sidecar.logs import fields

logger = logging.getLogger(__name__)
_POLICY = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """`id` is empty for a broker before Kafka 2.8. `is_compacted` is false if the user may not
    describe the configuration of the topic."""

    id: str
    is_compacted: bool


def topic_facts(
    session: SparkSession,
    settings: Mapping[str, str],
    topics: Collection[str],
    pattern: str | None = None,
) -> dict[str, TopicFacts]:
    """The existing topics of a subscription: these topics, or those whose whole name matches."""
    jvm: Any = session.sparkContext._jvm
    matches = jvm.java.util.regex.Pattern.matches
    with _admin(jvm, settings) as admin:
        present = set(admin.listTopics().names().get())
        wanted = [name for name in topics if name in present]
        if pattern is not None:
            wanted = [name for name in present if matches(pattern, name)]
        described = admin.describeTopics(wanted).allTopicNames().get()
        compacted = _compacted(jvm, admin, wanted)
        unknown = jvm.org.apache.kafka.common.Uuid.ZERO_UUID.toString()
        ids = {name: described[name].topicId().toString() for name in wanted}
        return {
            name: TopicFacts("" if ids[name] == unknown else ids[name], name in compacted)
            for name in wanted
        }


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
        return _policy(admin.describeConfigs([resource]).values()[resource])


def _compacted(jvm: Any, admin: Any, topics: Iterable[str]) -> set[str]:
    """The topics with `compact` in `cleanup.policy`, of those with a readable configuration."""
    config = jvm.org.apache.kafka.common.config
    found = set()
    for topic in topics:
        resource = config.ConfigResource(config.ConfigResource.Type.TOPIC, topic)
        answer = admin.describeConfigs([resource]).values()[resource]
        try:
            is_compacted = "compact" in _policy(answer)
        except Exception as error:
            if "AuthorizationException" not in str(error):
                raise
            logger.warning(
                "`cleanup.policy` of a topic is unknown: grant DescribeConfigs on it",
                extra=fields(topic=topic),
            )
            continue
        if is_compacted:
            found.add(topic)
    return found


def _policy(answer: Any) -> frozenset[str]:
    return frozenset(answer.get().get(_POLICY).value().split(","))


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
