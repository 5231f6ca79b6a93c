"""The compacted topic that stores positions, one record per logical name, all in partition 0.

Compaction keeps the latest record of a key but may take days, so the topic is read from near its
end, and from further back only if the key is not found there.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType

from sidecar.errors import ConfigError, OffsetStoreError, SidecarError, UnavailableError
from sidecar.offsets.position_store import PositionRecords, Positions, read_positions
from sidecar.sinks.kafka.client import KafkaClient
from sidecar.sinks.kafka.config.client_config import consumer_config
from sidecar.sinks.kafka.delivery_errors import denied_access, reason
from sidecar.sinks.kafka.topics.metadata import TopicCreation

POSITION_PARTITION = 0
_FIRST_RECORDS = 1000
_GROWTH = 32
_POLL_S = 0.1
_WAIT_S = 0.1
_POLICY = "cleanup.policy"


def position_topic_creation(creation: TopicCreation | None) -> TopicCreation | None:
    """Return how to create the topic: like other topics, but compacted and with one partition."""
    if creation is None:
        return None
    settings = {**creation.settings, _POLICY: "compact"}
    return TopicCreation(1, creation.replication_factor, settings)


def positions_of(records: PositionRecords, value: bytes | None) -> Positions:
    """Parse the positions in a record; empty without a record. Raises OffsetStoreError."""
    try:
        return {} if value is None else read_positions(value)
    except ValueError as error:
        raise OffsetStoreError(
            f"The position of {records.name} in the topic {records.topic} (position.topic) cannot "
            f"be read: {error}. Another program wrote it: set a different position.topic."
        ) from error


def load_positions(
    client: KafkaClient,
    records: PositionRecords,
    until_s: float,
    clock: Callable[[], float],
) -> Positions:
    """Read the stored positions; wait for the topic, or create it. Raises as `PositionTopic`."""
    topic = records.topic
    topics = client.topics(position_topic_creation(client.options.creation))
    while topics.partition_count(topic, _WAIT_S) is None:
        client.poll(_WAIT_S)
        if clock() >= until_s:
            missing = topics.missing.get(topic)
            why = client.state().explanation if missing is None else missing.message
            raise UnavailableError(f"The position cannot be read: {why} (position.topic).")
    positions = PositionTopic(topic, client.connection(), client.admin, clock=clock)
    positions.check(max(0.0, until_s - clock()))
    value = positions.last(records.key, max(0.0, until_s - clock()))
    return positions_of(records, value)


class PositionTopic:
    """Reads the topic. Raises UnavailableError if no broker answers in time, AccessDeniedError if
    it denies access, ConfigError for a topic that loses positions."""

    def __init__(
        self,
        topic: str,
        connection: Mapping[str, Any],
        admin: Callable[[], AdminClient],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`connection` contains a client's connection settings; `clock` returns seconds."""
        self._topic = topic
        self._connection = connection
        self._admin = admin
        self._clock = clock

    def check(self, timeout_s: float) -> None:
        """Check that the topic, which must exist, has the policy `compact` only."""
        resource = ConfigResource(ResourceType.TOPIC, self._topic)
        # The client must stay referenced until it answers.
        admin = self._admin()
        try:
            futures = admin.describe_configs([resource], request_timeout=timeout_s)
            policy = futures[resource].result(timeout_s)[_POLICY].value
        except TimeoutError as error:
            raise self._unavailable("the broker does not answer") from error
        except KafkaException as error:
            raise self._failed(error.args[0]) from error
        if policy != "compact":
            raise ConfigError(
                f"The topic {self._topic} (position.topic) has {_POLICY}={policy}, so Kafka may "
                f"delete positions in it. Set {_POLICY}=compact for this topic, or configure a "
                "different one."
            )

    def last(self, key: bytes, timeout_s: float) -> bytes | None:
        """Return the value of the latest committed record with this key, or None."""
        until_s = self._clock() + timeout_s
        consumer = Consumer(
            consumer_config(self._connection, "cdc-sidecar-positions", reports_end=True)
        )
        try:
            low, high = self._bounds(until_s)
            records = _FIRST_RECORDS
            while True:
                start = max(low, high - records)
                value = self._read(consumer, key, start, high, until_s)
                if value is not None or start <= low:
                    return value
                records *= _GROWTH
        except KafkaException as error:
            raise self._failed(error.args[0]) from error
        finally:
            consumer.close()

    def _bounds(self, until_s: float) -> tuple[int, int]:
        """Return the first offset, and the offset after the last record, committed or not.

        A consumer of committed records sees an end before any open transaction, even another
        agent's, and our record may lie after that end.
        """
        place = TopicPartition(self._topic, POSITION_PARTITION)
        admin = self._admin()
        offsets = []
        # Its functions have no type annotations.
        specs: Any = OffsetSpec
        for spec in (specs.earliest(), specs.latest()):
            timeout_s = max(_POLL_S, until_s - self._clock())
            futures = admin.list_offsets(
                {place: spec},
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=timeout_s,
            )
            try:
                offsets.append(futures[place].result(timeout_s).offset)
            except TimeoutError as error:
                raise self._unavailable("the broker does not answer") from error
        return offsets[0], offsets[1]

    def _read(
        self, consumer: Consumer, key: bytes, start: int, stop: int, until_s: float
    ) -> bytes | None:
        """Return the latest value of the key in offsets start … stop-1, once all transactions in
        them have ended."""
        if start >= stop:
            return None
        consumer.assign([TopicPartition(self._topic, POSITION_PARTITION, start)])
        value: bytes | None = None
        while True:
            message = consumer.poll(_POLL_S)
            if message is None:
                if self._clock() >= until_s:
                    raise self._unavailable(
                        "a transaction is open in it. If that lasts longer than its "
                        "transaction.timeout.ms, Kafka lost the end of the transaction: "
                        "kafka-transactions.sh find-hanging lists it, and abort ends it"
                    )
                continue
            error = message.error()
            offset = message.offset()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                if not error.retriable():
                    raise self._failed(error)
            elif error is not None:
                if offset is not None and offset >= stop:
                    return value
            elif offset is not None and offset >= stop:
                # Other agents write all the time, so the end may never be reported.
                return value
            elif message.key() == key:
                value = message.value()

    def _failed(self, error: KafkaError) -> SidecarError:
        denied = denied_access(error, f"The topic {self._topic} (position.topic)")
        return denied or self._unavailable(reason(error))

    def _unavailable(self, why: str) -> UnavailableError:
        return UnavailableError(
            f"The position cannot be read from the topic {self._topic} (position.topic): {why}."
        )
