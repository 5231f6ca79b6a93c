"""A topic that is followed record by record, such as one of signals: its partition 0, in order.

Progress is the reader's own: no group is joined and nothing is committed; what a group committed
says only where a first reader begins. A broker that is away and a topic that is not there yet are
waited for.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from sidecar.errors import ConfigError
from sidecar.logs import RateLimitedLog
from sidecar.sinks.kafka.config.client_config import client_config, connection
from sidecar.sinks.kafka.delivery_errors import reason

logger = logging.getLogger(__name__)

_PARTITION = 0
_POLL_S = 0.2
_ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class TailedRecord:
    """A record as it lies in the topic."""

    key: bytes | None
    value: bytes | None
    offset: int


class TopicTailer:
    """`with TopicTailer(…):` hands records to `taken`, on a thread of its own, one at a time: the
    next one follows when it returns."""

    def __init__(
        self,
        settings: Mapping[str, str],
        topic: str,
        behind: int | None,
        taken: Callable[[TailedRecord], None],
        *,
        group: str,
    ) -> None:
        """`settings` are those of a Java client. `behind` is the offset of the last record that was
        taken; None begins behind what the consumer `group` has committed, else with the first
        record that is there. By the name of the group a broker's rights know who reads. Raises
        ConfigError."""
        config: dict[str, Any] = {
            **connection(client_config(settings)),
            "group.id": group,
            "enable.auto.commit": False,
            # Also where what follows `behind` is deleted, or the topic is another one.
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
        try:
            self._consumer = Consumer(config)
        except ValueError as error:
            raise ConfigError(f"The topic {topic} cannot be followed: {error}.") from error
        self._topic = topic
        self._behind = behind
        self._taken = taken
        self._is_closed = threading.Event()
        self._repeated = RateLimitedLog(logger)
        self._thread = threading.Thread(target=self._follow, name=f"following {topic}")

    @property
    def is_closed(self) -> bool:
        """For `taken`: nobody waits for it any more."""
        return self._is_closed.is_set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_closed.set()
        self._thread.join()
        self._consumer.close()

    def _follow(self) -> None:
        behind = self._behind
        start = self._first() if behind is None else behind + 1
        self._consumer.assign([TopicPartition(self._topic, _PARTITION, start)])
        while not self.is_closed:
            record = self._consumer.poll(_POLL_S)
            if record is None:
                continue
            error = record.error()
            offset = record.offset()
            if error is not None:
                self._say(error)
            elif offset is not None:
                self._repeated.resolved("away", "the topic is followed again", topic=self._topic)
                self._taken(TailedRecord(record.key(), record.value(), offset))

    def _first(self) -> int:
        """Where a first reader begins.

        Asked for by itself and again: a client that assigns what is committed gives up for good
        when the broker is only just making the topic of committed offsets."""
        place = TopicPartition(self._topic, _PARTITION)
        while not self.is_closed:
            try:
                (found,) = self._consumer.committed([place], _ASK_S)
            except KafkaException as error:
                self._say(error.args[0])
            else:
                if found.error is None:
                    return found.offset if found.offset >= 0 else OFFSET_BEGINNING
                self._say(found.error)
            self._is_closed.wait(_POLL_S)
        return OFFSET_BEGINNING

    def _say(self, error: KafkaError) -> None:
        self._repeated.log(
            "away", "a topic cannot be followed", topic=self._topic, reason=reason(error)
        )
