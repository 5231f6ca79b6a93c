"""A look at the broker without sending anything, for checks before the sink is used."""

import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from sidecar.errors import UnavailableError
from sidecar.positions import PositionRecords, all_values
from sidecar.sinks.kafka.client_properties import client_config, connection
from sidecar.sinks.kafka.position_topic import PositionTopic, positions_of
from sidecar.sinks.kafka.refusals import reason
from sidecar.sinks.kafka.refused_settings import refused_settings
from sidecar.sinks.kafka.topics import raise_refusal

_STEP_S = 0.2


def existing_topics(settings: Mapping[str, str], timeout_s: float) -> dict[str, int]:
    """Partition count of every topic that the broker shows; `settings` as for `KafkaSink`.

    Raises UnavailableError when no broker answers within `timeout_s`, RefusedError when it refuses
    the login, ConfigError when the settings are wrong.
    """
    config = client_config(settings)
    servers = config.get("bootstrap.servers", "")
    problems: list[KafkaError] = []
    try:
        client = AdminClient(
            {**connection(config), "log_level": 0, "error_cb": problems.append}  # type: ignore[dict-item]
        )
    except KafkaException as error:
        raise refused_settings(error, settings) from error
    until_s = time.monotonic() + timeout_s
    while True:
        try:
            topics = client.list_topics(timeout=_STEP_S).topics
            return {name: len(topic.partitions) for name, topic in topics.items()}
        except KafkaException as error:
            client.poll(0)
            for problem in problems:
                raise_refusal(problem, "The Kafka broker")
            if time.monotonic() >= until_s:
                causes = [p for p in problems if p.code() != KafkaError._ALL_BROKERS_DOWN]
                cause = reason(causes[-1] if causes else error.args[0])
                raise UnavailableError(f"No Kafka broker of {servers} answers: {cause}.") from error


def stored_values(
    settings: Mapping[str, str], records: PositionRecords, timeout_s: float
) -> dict[str, str]:
    """The position that is stored in a topic, read without shutting out an agent that runs; empty
    where there is none. Raises as `existing_topics`, and OffsetStoreError."""
    if records.topic not in existing_topics(settings, timeout_s):
        return {}
    client = connection(client_config(settings))
    topic = PositionTopic(records.topic, client, lambda: AdminClient(client))
    return all_values(positions_of(records, topic.last(records.key, timeout_s)))
