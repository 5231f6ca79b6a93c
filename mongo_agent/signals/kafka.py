"""The signal channel `kafka`, as in Debezium.

The key is the logical name (`topic.prefix`), the value {"id", "type", "data"}; the topic has one
partition. The read offset is part of the snapshot progress (`kafka_offset`), so the agent stores it
in one step with the effect of the signal. The first start reads from the committed offset of the
group `signal.kafka.groupId`, as left by Debezium's connector, else from the beginning.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from mongo_agent.signals.signal import Signal, SignalResult, is_answered, parse_signal_text
from sidecar.logs import fields
from sidecar.sinks.kafka.topics.tailer import TailedRecord, TopicTailer

logger = logging.getLogger(__name__)

CHANNEL = "kafka"


def signal_of(record: TailedRecord, logical_name: str) -> Signal | None:
    """Parse the signal of a record; None for another agent's key."""
    if record.key != logical_name.encode():
        return None
    return parse_signal_text(record.value or b"", CHANNEL, kafka_offset=record.offset)


class SignalTopic(TopicTailer):
    """Passes signals to `send` and waits for each result.

    `after` is `SnapshotProgress.kafka_offset`; `settings` use the names of a Java client.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        topic: str,
        logical_name: str,
        after: int | None,
        send: Callable[[Signal], Future[SignalResult]],
        *,
        group: str = "kafka-signal",
    ) -> None:
        """Raises ConfigError for invalid client settings."""
        self._logical_name = logical_name
        self._send = send
        super().__init__(settings, topic, after, self._handle, group=group)

    def _handle(self, record: TailedRecord) -> None:
        signal = signal_of(record, self._logical_name)
        if signal is None:
            key = None if record.key is None else record.key.decode(errors="replace")
            logger.info(
                "signal for another agent skipped", extra=fields(key=key, offset=record.offset)
            )
            return
        is_answered(self._send(signal), lambda: self.is_closed)
