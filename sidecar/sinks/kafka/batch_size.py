"""How large the batches of a producer may be, as far as topics have shown.

A broker that refuses a batch for its size refuses all events in it, though only one may be too
large. The client never puts a message that is larger than a batch together with others, so in
batches that are small enough it is refused alone.
"""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.errors import SinkRestartError
from sidecar.sinks.kafka.client_properties import PREFIX
from sidecar.sinks.kafka.refusals import reason

_DIVISOR = 16


class BatchSize:
    """Begins at what is configured, and only becomes smaller."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """`config` is that of the client."""
        self._bytes = int(config["batch.size"])

    def settings(self) -> dict[str, Any]:
        """For the next producer."""
        return {"batch.size": self._bytes}

    def held_alone(self, report: Report) -> bool:
        """Whether the message was in a batch of its own."""
        return size_bytes(report) > self._bytes or self._bytes == 1

    def smaller(self, report: Report, error: KafkaError) -> SinkRestartError:
        """The next producer makes smaller batches; gives the error that leads to one."""
        self._bytes = max(1, self._bytes // _DIVISOR)
        return SinkRestartError(
            f"The topic {report.topic()} refuses a batch of events: {reason(error)}. Going on "
            f"with batches of {self._bytes} bytes; set {PREFIX}batch.size below the topic's "
            "max.message.bytes."
        )


def size_bytes(report: Report) -> int:
    return len(report.key() or b"") + len(report.value() or b"")
