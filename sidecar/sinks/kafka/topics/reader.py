"""Reads all records of a topic, or tails one partition, such as of a signal topic."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record

from sidecar.errors import ConfigError, UnavailableError
from sidecar.logs import RateLimitedLog
from sidecar.process.lifecycle import Worker
from sidecar.sinks.kafka.config.client_config import client_config, connection, consumer_config
from sidecar.sinks.kafka.delivery_errors import reason
from sidecar.sinks.kafka.topics.metadata import raise_denied_access

logger = logging.getLogger(__name__)

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


_PARTITION = 0
_TAIL_POLL_S = 0.2
_ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class TailedRecord:
    key: bytes | None
    value: bytes | None
    offset: int


class TopicTailer(Worker):
    """Calls `taken` with one record of partition 0 at a time, on a separate thread inside a `with`
    block. `taken` should return when `is_stopping`.

    The caller stores the offset: the tailer joins no group and commits nothing. The committed
    offset of a group only sets where the first reader starts. The tailer waits for an unavailable
    broker and for a missing topic.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        topic: str,
        behind: int | None,
        taken: Callable[[TailedRecord], None],
        *,
        group: str,
    ) -> None:
        """`settings` use Java names. `behind` is the offset of the last processed record.

        None starts at the offset that the consumer `group` has committed, or at the first record.
        The broker's ACLs may require a specific group. Raises ConfigError.
        """
        # `auto.offset.reset` applies if records after `behind` were deleted, or the topic replaced.
        config = consumer_config(connection(client_config(settings)), group, reports_end=False)
        try:
            self._consumer = Consumer(config)
        except ValueError as error:
            raise ConfigError(f"The topic {topic} cannot be read: {error}.") from error
        self._topic = topic
        self._behind = behind
        self._taken = taken
        self._log_limited = RateLimitedLog(logger)
        super().__init__(f"tail {topic}", self._follow, join_s=None)

    def stop(self) -> None:
        super().stop()
        self._consumer.close()

    def _follow(self, stopped: threading.Event) -> None:
        behind = self._behind
        start = self._first(stopped) if behind is None else behind + 1
        self._consumer.assign([TopicPartition(self._topic, _PARTITION, start)])
        while not stopped.is_set():
            record = self._consumer.poll(_TAIL_POLL_S)
            if record is None:
                continue
            error = record.error()
            offset = record.offset()
            if error is not None:
                self._log(error)
            elif offset is not None:
                self._log_limited.resolved("away", "topic is readable again", topic=self._topic)
                self._taken(TailedRecord(record.key(), record.value(), offset))

    def _first(self, stopped: threading.Event) -> int:
        """Return the start offset of the first reader.

        The request is explicit and retried: a client that assigns the committed offset fails
        permanently while the broker creates the topic of committed offsets.
        """
        place = TopicPartition(self._topic, _PARTITION)
        while not stopped.is_set():
            try:
                (found,) = self._consumer.committed([place], _ASK_S)
            except KafkaException as error:
                self._log(error.args[0])
            else:
                if found.error is None:
                    return found.offset if found.offset >= 0 else OFFSET_BEGINNING
                self._log(found.error)
            stopped.wait(_TAIL_POLL_S)
        return OFFSET_BEGINNING

    def _log(self, error: KafkaError) -> None:
        self._log_limited.log(
            "away", "topic cannot be read", topic=self._topic, reason=reason(error)
        )
