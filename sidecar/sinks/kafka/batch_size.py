"""How large the batches of a producer may be, as far as topics have shown.

A broker that refuses a batch for its size, or for an event that it finds invalid, refuses all
events in it, though only one may be the cause. The client never puts a message that is larger than
a batch together with others, so in batches that are small enough it is refused alone.
"""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.errors import SinkRestartError
from sidecar.sinks.kafka.client_properties import PREFIX
from sidecar.sinks.kafka.refusals import TOO_LARGE, is_of_the_clock, reason

_DIVISOR = 16


class BatchSize:
    """Begins at what is configured, and becomes smaller until the cause is known."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """`config` is that of the client."""
        self._configured_bytes = int(config["batch.size"])
        self._bytes = self._used_bytes = self._configured_bytes

    def settings(self) -> dict[str, Any]:
        """For the next producer, of which reports are from here on."""
        self._used_bytes = self._bytes
        return {"batch.size": self._bytes}

    def held_alone(self, report: Report) -> bool:
        """Whether the message was in a batch of its own."""
        return size_bytes(report) > self._used_bytes or self._used_bytes == 1

    def smaller(self, report: Report, error: KafkaError) -> SinkRestartError:
        """The next producer makes smaller batches; gives the error that leads to one."""
        self._bytes = max(1, self._used_bytes // _DIVISOR)
        hint = (
            f"set {PREFIX}batch.size below the topic's max.message.bytes"
            if error.code() in TOO_LARGE
            else "the cause is the clock of this machine (message.timestamp.after.max.ms) or an "
            "event that the broker finds invalid"
        )
        return SinkRestartError(
            f"The topic {report.topic()} refuses a batch of events: {reason(error)}. Going on "
            f"with batches of {self._bytes} bytes; {hint}."
        )

    def told(self, error: KafkaError) -> None:
        """About a message that is not refused: small batches do not help against a wrong clock."""
        if is_of_the_clock(error):
            self._bytes = self._configured_bytes


def refused_alone(report: Report, error: KafkaError) -> str:
    """Why a message that was in a batch of its own is refused."""
    if error.code() in TOO_LARGE:
        return f"Kafka refuses its {size_bytes(report)} bytes: {reason(error)}"
    return f"Kafka refuses it: {reason(error)}"


def size_bytes(report: Report) -> int:
    return len(report.key() or b"") + len(report.value() or b"")
