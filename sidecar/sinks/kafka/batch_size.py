"""Adapts the batch size of the producer to what brokers accept.

A broker that rejects a batch for its size, or for one invalid event, rejects every event in it. The
client never batches a message that is larger than `batch.size` with others, so if batches are small
enough, the broker rejects only the offending event.

Batches of one event reduce the throughput to a fifteenth (`kafka.producer.batch.size` 1 instead of
1,000,000, on a busy machine), so the size grows again afterwards.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.errors import SinkRestartError
from sidecar.sinks.kafka.config.java_names import PREFIX
from sidecar.sinks.kafka.delivery_errors import (
    MESSAGE_TOO_LARGE,
    is_clock_skew,
    reason,
    rejection,
)

_DIVISOR = 16
_FIRST_QUIET_S, _LONGEST_QUIET_S = 60.0, 3600.0


class BatchSize:
    """Starts at the configured size, shrinks until the offending event is alone, and grows again
    after a quiet period: one minute, doubled whenever the larger batches are rejected.

    The size stays small for a topic that rejects large batches of small events.
    """

    def __init__(
        self, config: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`config` is the client's; `clock` returns seconds."""
        self._configured_bytes = self._largest_bytes = int(config["batch.size"])
        self._bytes = self._used_bytes = self._largest_bytes
        self._clock = clock
        self._rejected_at_s = self._grown_at_s = -math.inf
        self._quiet_s = _FIRST_QUIET_S

    def settings(self) -> dict[str, Any]:
        """Return the settings of the next producer; later reports concern its batches."""
        self._used_bytes = self._bytes
        return {"batch.size": self._bytes}

    def was_alone(self, report: Report) -> bool:
        return size_bytes(report) > self._used_bytes or self._used_bytes == 1

    @property
    def should_grow(self) -> bool:
        """Whether the sink should switch to a producer with the largest batches."""
        is_quiet = self._clock() >= self._rejected_at_s + self._quiet_s
        return self._used_bytes < self._largest_bytes and is_quiet

    def largest_settings(self) -> dict[str, Any]:
        """Return the settings of that producer; call `grow` once it exists."""
        return {"batch.size": self._largest_bytes}

    def grow(self) -> None:
        """Record that later reports concern the largest batches."""
        self._bytes = self._used_bytes = self._largest_bytes
        self._grown_at_s = self._clock()

    def postpone_growth(self) -> None:
        """Try again after another quiet period."""
        self._rejected_at_s = self._clock()

    def shrink(self, report: Report, error: KafkaError) -> SinkRestartError:
        """Use smaller batches for the next producer. Return the error that restarts the sink."""
        self._bytes = max(1, self._used_bytes // _DIVISOR)
        self._note_rejection()
        if error.code() in MESSAGE_TOO_LARGE:
            self._largest_bytes = self._bytes
        hint = (
            f"set {PREFIX}batch.size below the topic's max.message.bytes"
            if error.code() in MESSAGE_TOO_LARGE
            else "the cause is the clock of this machine (message.timestamp.after.max.ms) or an "
            "event that the broker finds invalid"
        )
        return SinkRestartError(
            f"The topic {report.topic()} rejected a batch of events: {reason(error)}. The agent "
            f"continues with batches of {self._bytes} bytes; {hint}."
        )

    def observe(self, error: KafkaError) -> None:
        """Handle any other error: small batches do not help against a wrong clock."""
        if is_clock_skew(error):
            self._bytes = self._largest_bytes

    def reason_alone(self, report: Report, error: KafkaError) -> str:
        if error.code() in MESSAGE_TOO_LARGE:
            # The event was too large, not its batch.
            self._largest_bytes = self._configured_bytes
        # A larger event is always alone in its batch.
        if size_bytes(report) <= self._largest_bytes:
            self._note_rejection()
        if error.code() in MESSAGE_TOO_LARGE:
            return f"Kafka rejects its {size_bytes(report)} bytes: {rejection(error)}"
        return f"Kafka rejects it: {reason(error)}"

    def _note_rejection(self) -> None:
        now_s = self._clock()
        if self._grown_at_s > self._rejected_at_s:
            was_in_vain = now_s < self._grown_at_s + self._quiet_s
            longer_s = min(_LONGEST_QUIET_S, 2 * self._quiet_s)
            self._quiet_s = longer_s if was_in_vain else _FIRST_QUIET_S
        self._rejected_at_s = now_s


def size_bytes(report: Report) -> int:
    return len(report.key() or b"") + len(report.value() or b"")
