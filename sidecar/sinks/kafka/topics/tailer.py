"""Tails partition 0 of a topic, such as a signal topic, record by record.

The caller stores the offset: the tailer joins no group and commits nothing. The committed offset of
a group only sets where the first reader starts. The tailer waits for an unavailable broker and for
a missing topic.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from sidecar.errors import ConfigError
from sidecar.logs import RateLimitedLog
from sidecar.process.lifecycle import Worker
from sidecar.sinks.kafka.config.client_config import client_config, connection, consumer_config
from sidecar.sinks.kafka.delivery_errors import reason

logger = logging.getLogger(__name__)

_PARTITION = 0
_POLL_S = 0.2
_ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class TailedRecord:
    key: bytes | None
    value: bytes | None
    offset: int


class TopicTailer(Worker):
    """Calls `taken` with one record at a time, on a separate thread inside a `with` block. `taken`
    should return when `is_stopping`."""

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
            record = self._consumer.poll(_POLL_S)
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
            stopped.wait(_POLL_S)
        return OFFSET_BEGINNING

    def _log(self, error: KafkaError) -> None:
        self._log_limited.log(
            "away", "topic cannot be read", topic=self._topic, reason=reason(error)
        )
