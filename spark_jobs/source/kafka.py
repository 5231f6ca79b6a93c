"""Reads records of Kafka topics with Spark's source, and topic ids, end offsets and settings with
Kafka's Java client in the driver."""

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from sidecar.logs import fields
from spark_jobs.errors import CheckpointError, InputError
from spark_jobs.options.kafka import SourceOptions, TopicJobOptions
from spark_jobs.storage import CheckpointOwner, Folder, OwnedCheckpoint, acquire_checkpoint

logger = logging.getLogger(__name__)
FILE = "cdc-topics.json"
Compacted = Literal["reject", "warn", "accept"]
"""Whether a job reads topics with `cleanup.policy=compact`. `reject`: it rebuilds rows from events.
`warn`: later readers may rebuild rows. `accept`: its records are complete states."""


def read_stream(
    session: SparkSession, options: SourceOptions, *, is_limited: bool = True
) -> DataFrame:
    """A stream of records with key, value, topic, partition, offset, headers and more columns."""
    settings = options.reader_options(is_limited=is_limited)
    return session.readStream.format("kafka").options(**settings).load()


def read(session: SparkSession, options: SourceOptions) -> DataFrame:
    """The current records from `starting.offsets` on, with the columns of `read_stream`."""
    settings = options.reader_options(is_limited=False)
    return session.read.format("kafka").options(**settings).load()


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """Facts about a topic. `id` is empty for brokers before Kafka 2.8. `is_compacted` is false if
    the user may not describe the topic's configuration."""

    id: str
    is_compacted: bool


def describe_topics(
    session: SparkSession,
    settings: Mapping[str, str],
    topics: Collection[str],
    pattern: str | None = None,
) -> dict[str, TopicFacts]:
    """The existing topics of a subscription: `topics`, or topics whose whole name matches."""
    jvm: Any = session.sparkContext._jvm
    matches = jvm.java.util.regex.Pattern.matches
    with _admin(jvm, settings) as (admin, present):
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


def read_end_offsets(
    session: SparkSession, settings: Mapping[str, str], topics: Iterable[str]
) -> dict[str, dict[int, int]]:
    """The offset after the last record of each partition, for topics that exist.

    `settings` are settings of Kafka's client, such as `bootstrap.servers`.
    """
    jvm: Any = session.sparkContext._jvm
    kafka = jvm.org.apache.kafka
    with _admin(jvm, settings) as (admin, present):
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


def read_cleanup_policy(
    session: SparkSession, settings: Mapping[str, str], topic: str
) -> frozenset[str] | None:
    """`cleanup.policy` of a topic; None if it does not exist. Requires DescribeConfigs on it."""
    jvm: Any = session.sparkContext._jvm
    with _admin(jvm, settings) as (admin, present):
        return _policy(jvm, admin, topic) if topic in present else None


def _compacted(jvm: Any, admin: Any, topics: Iterable[str]) -> set[str]:
    """The topics with `compact` in `cleanup.policy`, except topics without read permission."""
    found = set()
    for topic in topics:
        try:
            if "compact" in _policy(jvm, admin, topic):
                found.add(topic)
        except Exception as error:
            if "AuthorizationException" not in str(error):
                raise
            logger.warning(
                "`cleanup.policy` of a topic is unknown: grant DescribeConfigs on it",
                extra=fields(topic=topic),
            )
    return found


def _policy(jvm: Any, admin: Any, topic: str) -> frozenset[str]:
    config = jvm.org.apache.kafka.common.config
    resource = config.ConfigResource(config.ConfigResource.Type.TOPIC, topic)
    answer = admin.describeConfigs([resource]).values()[resource]
    return frozenset(answer.get().get("cleanup.policy").value().split(","))


@contextmanager
def _admin(jvm: Any, settings: Mapping[str, str]) -> Iterator[tuple[Any, set[str]]]:
    """An open admin client, and the names of the existing topics."""
    properties = jvm.java.util.Properties()
    for name, value in settings.items():
        properties.put(name, value)
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    try:
        yield admin, set(admin.listTopics().names().get())
    finally:
        admin.close()


class SourceTopics:
    """Verifies that a job's topics match its checkpoint and contain every event.

    Offsets are valid only for the topic id that the checkpoint stores: a topic that was deleted and
    created again has the same name, and the same offsets for different records. In compacted
    topics, Kafka keeps only the latest event of a key, but an event contains only the columns that
    its statement wrote.
    """

    def __init__(
        self, session: SparkSession, options: TopicJobOptions, *, compacted: Compacted
    ) -> None:
        """Raises `CheckpointError` if a topic was created again since the last run, `InputError`
        if it is compacted and must not be."""
        self._session = session
        self._options = options
        self._folder = Folder(session, options.checkpoint)
        self._ids: dict[str, str] = json.loads(self._folder.read_text(FILE, "{}"))
        facts = self.verify()
        found = [topic for topic, each in facts.items() if each.is_compacted]
        text = (
            f"Topics have `compact` in `cleanup.policy`: {', '.join(sorted(found))}. An event has "
            "only the columns that its statement wrote, so compaction loses writes, and values are "
            "missing from rebuilt rows. Set `cleanup.policy=delete` for these topics, and take "
            "snapshots of their tables to replace the lost values."
        )
        if found and compacted == "reject":
            raise InputError(text)
        if found and compacted == "warn":
            logger.warning(text, extra=fields(topics=found))

    def verify(self) -> dict[str, TopicFacts]:
        """Compare topic ids with the stored ids, and add new ones. Raises `CheckpointError`."""
        options, known = self._options, self._ids
        facts = describe_topics(
            self._session, options.kafka, options.topics, options.topics_pattern
        )
        now = {topic: each.id for topic, each in facts.items() if each.id}
        # A deleted topic has no id.
        replaced = [
            topic for topic in sorted(known) if now.get(topic, known[topic]) != known[topic]
        ]
        if replaced:
            ids = "; ".join(f"{each} (id {known[each]}, now {now[each]})" for each in replaced)
            raise CheckpointError(
                f"Topics were deleted and created again: {ids}. The offsets in "
                f"{options.checkpoint} belong to the deleted topics. Records that the job had not "
                "read from them are lost, and it would skip the first new records. To read the new "
                "topics, start with a new `checkpoint` and `starting.offsets=earliest`. To replace "
                "the lost records, take snapshots of the tables or collections of these topics "
                "again."
            )
        if now.keys() - self._ids.keys():
            self._ids |= now
            self._folder.write_text(FILE, json.dumps(self._ids, indent=2, sort_keys=True) + "\n")
        return facts


def open_source(
    session: SparkSession,
    options: TopicJobOptions,
    job: str,
    fixed: Mapping[str, str],
    *,
    compacted: Compacted,
    store_id: str = "",
) -> tuple[OwnedCheckpoint, SourceTopics, DataFrame]:
    """Acquire a job's checkpoint, and stream its topics from the offsets in the checkpoint.

    `fixed` contains options that must not change. Raises `CheckpointError`, or `InputError` for
    topics that the job cannot read.
    """
    owner = CheckpointOwner(job, options.subscription(), fixed, store_id)
    checkpoint = acquire_checkpoint(session, options.checkpoint, owner)
    topics = SourceTopics(session, options, compacted=compacted)
    records = read_stream(session, options, is_limited=options.trigger != "once")
    return checkpoint, topics, records
