"""Reads all records of a topic."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record

from sidecar.errors import ConfigError, UnavailableError
from sidecar.sinks.kafka.config.client_config import client_config, connection, consumer_config
from sidecar.sinks.kafka.delivery_errors import reason
from sidecar.sinks.kafka.topics.metadata import raise_denied_access

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic. `headers` are in order and may repeat names."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


def committed_records(
    settings: Mapping[str, str], topic: str, timeout_s: float
) -> Iterator[TopicRecord]:
    """Yield each committed record up to the current end, in order within each partition. `settings`
    are `kafka.producer.*` without the prefix.

    Raises UnavailableError if nothing arrives for `timeout_s`, AccessDeniedError, ConfigError for a
    topic that does not exist.
    """
    servers = connection(client_config(settings))
    consumer = Consumer(consumer_config(servers, "cdc-sidecar-records", reports_end=True))
    try:
        partitions = _partitions(consumer, topic, timeout_s)
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        ended: set[int | None] = set()
        until_s = time.monotonic() + timeout_s
        while len(ended) < len(partitions):
            record = consumer.poll(_POLL_S)
            if record is not None and _is_end(record, topic):
                ended.add(record.partition())
            elif record is not None and record.error() is None:
                until_s = time.monotonic() + timeout_s
                if record.partition() not in ended:
                    yield TopicRecord(record.key(), record.value(), _headers(record))
            elif time.monotonic() >= until_s:
                raise UnavailableError(
                    f"The topic {topic} returned no record for {timeout_s:.0f} s."
                )
    finally:
        consumer.close()


def _headers(record: Record) -> list[tuple[str, bytes]]:
    found = []
    for header in record.headers() or ():
        value = header[1]
        found.append((header[0], value if isinstance(value, bytes) else b""))
    return found


def _partitions(consumer: Consumer, topic: str, timeout_s: float) -> list[int]:
    try:
        metadata = consumer.list_topics(topic, timeout=timeout_s).topics[topic]
    except KafkaException as error:
        raise_denied_access(error.args[0], "The Kafka broker")
        raise UnavailableError(
            f"The topic {topic} cannot be read: {reason(error.args[0])}."
        ) from error
    if metadata.error is not None or not metadata.partitions:
        if metadata.error is not None:
            raise_denied_access(metadata.error, f"The topic {topic}")
        raise ConfigError(f"The topic {topic} does not exist.")
    return sorted(metadata.partitions)


def _is_end(record: Record, topic: str) -> bool:
    error = record.error()
    if error is None:
        return False
    raise_denied_access(error, f"The topic {topic}")
    return error.code() == KafkaError._PARTITION_EOF
