"""The topics that a checkpoint's offsets are of, and whether they still have every event.

An offset has a meaning only with the id of its topic: a topic that was deleted and created again
has the same name and the same offsets for other records. Kafka's cleaner leaves the last event of
a key alone, and an event has only the columns that its statement wrote.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs.errors import CheckpointError, InputError
from spark_jobs.source.kafka_admin import TopicFacts, topic_facts
from spark_jobs.storage import Folder

logger = logging.getLogger(__name__)
FILE = "cdc-topics.json"
Compacted = Literal["reject", "warn", "accept"]
"""Whether a job reads topics with `cleanup.policy=compact`. `reject`: it rebuilds rows of events.
`warn`: later readers may. `accept`: its records are whole states."""


class TopicOptions(Protocol):
    """The part of a job's options that names topics."""

    @property
    def checkpoint(self) -> str: ...
    @property
    def kafka(self) -> Mapping[str, str]: ...
    @property
    def topics(self) -> tuple[str, ...]: ...
    @property
    def topics_pattern(self) -> str | None: ...


class SourceTopics:
    """Verifies the topics of a job. The checkpoint stores their ids."""

    def __init__(
        self, session: SparkSession, options: TopicOptions, *, compacted: Compacted
    ) -> None:
        """Raises `CheckpointError` if a topic was created again since the last run, `InputError`
        if it is compacted and must not be."""
        self._session = session
        self._options = options
        self._folder = Folder(session, options.checkpoint)
        self._ids: dict[str, str] = {}
        if self._folder.exists(FILE):
            self._ids = json.loads(self._folder.read_text(FILE))
        facts = self._verified()
        found = [topic for topic, each in facts.items() if each.is_compacted]
        if found and compacted == "reject":
            raise InputError(compacted_text(found))
        if found and compacted == "warn":
            logger.warning(compacted_text(found), extra=fields(topics=found))

    def verify(self) -> None:
        """Compare the topics with the stored ids again, and store the ids of new topics.

        Raises `CheckpointError` if a topic was created again.
        """
        self._verified()

    def _verified(self) -> dict[str, TopicFacts]:
        options = self._options
        facts = topic_facts(self._session, options.kafka, options.topics, options.topics_pattern)
        now = {topic: each.id for topic, each in facts.items() if each.id}
        changed = list(replaced_topics(self._ids, now))
        if changed:
            raise CheckpointError(replaced_text(changed, options.checkpoint, self._ids, now))
        if now.keys() - self._ids.keys():
            self._ids |= now
            self._folder.write_text(FILE, json.dumps(self._ids, indent=2, sort_keys=True) + "\n")
        return facts


def replaced_topics(stored: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """The topics whose id differs from the stored one. A deleted topic has no id."""
    return (topic for topic in sorted(stored) if now.get(topic, stored[topic]) != stored[topic])


def replaced_text(
    topics: list[str], checkpoint: str, stored: Mapping[str, str], now: Mapping[str, str]
) -> str:
    ids = "; ".join(f"{each} (id {stored[each]}, now {now[each]})" for each in topics)
    return (
        f"Topics were deleted and created again: {ids}. The offsets in {checkpoint} are of the "
        "deleted topics. Records that the job had not read from them are lost, and it would skip "
        "the first records of the new ones. To read the new topics, start with a new `checkpoint` "
        "and `starting.offsets=earliest`. To replace the lost records, take snapshots of the "
        "tables or collections of these topics again."
    )


def compacted_text(topics: list[str]) -> str:
    return (
        f"Topics have `compact` in `cleanup.policy`: {', '.join(sorted(topics))}. An event has "
        "only the columns that its statement wrote, so a compacted topic loses writes, and rebuilt "
        "rows lack values. Set `cleanup.policy=delete` for these topics, and take snapshots of "
        "their tables to replace what is lost."
    )
