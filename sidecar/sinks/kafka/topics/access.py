"""Queries topics and rights at the broker, for checks that write nothing."""

import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, wait
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from sidecar.errors import UnavailableError
from sidecar.offsets.position_store import PositionRecords, all_values
from sidecar.sinks.kafka.client import rejected_setting
from sidecar.sinks.kafka.config.client_config import client_config, connection
from sidecar.sinks.kafka.delivery_errors import reason
from sidecar.sinks.kafka.topics.metadata import raise_denied_access
from sidecar.sinks.kafka.transactions.position_topic import PositionTopic, positions_of

_STEP_S = 0.2


def existing_topics(settings: Mapping[str, str], timeout_s: float) -> dict[str, int]:
    """Return the partition count of every visible topic; `settings` are as for `KafkaSink`.

    Raises UnavailableError if no broker answers within `timeout_s`, AccessDeniedError if it rejects
    the login, ConfigError if the settings are wrong.
    """
    config = client_config(settings)
    servers = config.get("bootstrap.servers", "")
    problems: list[KafkaError] = []
    try:
        client = AdminClient(
            {**connection(config), "log_level": 0, "error_cb": problems.append}  # type: ignore[dict-item]
        )
    except KafkaException as error:
        raise rejected_setting(error, settings) from error
    until_s = time.monotonic() + timeout_s
    while True:
        try:
            topics = client.list_topics(timeout=_STEP_S).topics
            return {name: len(topic.partitions) for name, topic in topics.items()}
        except KafkaException as error:
            client.poll(0)
            for problem in problems:
                raise_denied_access(problem, "The Kafka broker")
            if time.monotonic() >= until_s:
                causes = [p for p in problems if p.code() != KafkaError._ALL_BROKERS_DOWN]
                cause = reason(causes[-1] if causes else error.args[0])
                raise UnavailableError(f"No Kafka broker of {servers} answers: {cause}.") from error


def unwritable_topics(
    settings: Mapping[str, str], topics: Collection[str], timeout_s: float
) -> list[str]:
    """Return the existing topics to which this user is not allowed to write. Empty if the broker
    does not report rights (before Kafka 2.3) or does not answer in time."""
    try:
        client = AdminClient({**connection(client_config(settings)), "log_level": 0})
        asked = client.describe_topics(
            TopicCollection(list(topics)),
            include_authorized_operations=True,
            request_timeout=timeout_s,
        )
        wait(asked.values(), timeout_s)
    except KafkaException:
        return []
    return sorted(topic for topic, future in asked.items() if _is_unwritable(future))


def _is_unwritable(future: Future[Any]) -> bool:
    if not future.done() or future.exception() is not None:
        return False
    operations = future.result().authorized_operations
    return bool(operations) and not {AclOperation.WRITE, AclOperation.ALL} & set(operations)


def compacted_topics(
    settings: Mapping[str, str], topics: Collection[str], timeout_s: float
) -> list[str]:
    """Return the topics with `compact` in `cleanup.policy`. A topic without an answer, for example
    because this user lacks the right to describe it, counts as not compacted."""
    try:
        client = AdminClient({**connection(client_config(settings)), "log_level": 0})
        asked = client.describe_configs(
            [ConfigResource(ResourceType.TOPIC, topic) for topic in topics],
            request_timeout=timeout_s,
        )
        wait(asked.values(), timeout_s)
    except KafkaException:
        return []
    return sorted(resource.name for resource, future in asked.items() if _is_compacted(future))


def _is_compacted(future: Future[Any]) -> bool:
    if not future.done() or future.exception() is not None:
        return False
    return "compact" in future.result()["cleanup.policy"].value.split(",")


def stored_values(
    settings: Mapping[str, str], records: PositionRecords, timeout_s: float
) -> dict[str, str]:
    """Read the position stored in a topic, without fencing a running agent; empty if there is none.

    Raises the errors of `existing_topics`, and OffsetStoreError.
    """
    if records.topic not in existing_topics(settings, timeout_s):
        return {}
    client = connection(client_config(settings))
    topic = PositionTopic(records.topic, client, lambda: AdminClient(client))
    return all_values(positions_of(records, topic.last(records.key, timeout_s)))
