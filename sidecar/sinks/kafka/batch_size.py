"""How large the batches of a producer may be, as far as topics have shown.

A broker that refuses a batch for its size, or for an event that it finds invalid, refuses all
events in it, though only one may be the cause. The client never puts a message that is larger than
a batch together with others, so in batches that are small enough it is refused alone.

Batches of single events are delivered at a fifteenth of the rate (`kafka.producer.batch.size` 1
beside 1,000,000, on a busy machine), so they do not stay small for one event.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.errors import SinkRestartError
from sidecar.sinks.kafka.config.client_config import PREFIX
from sidecar.sinks.kafka.delivery_errors import MESSAGE_TOO_LARGE, is_clock_skew, reason

_DIVISOR = 16
_FIRST_QUIET_S, _LONGEST_QUIET_S = 60.0, 3600.0


class BatchSize:
    """Begins at what is configured, becomes smaller until the cause is known, and grows again when
    nothing was refused for a while: a minute first, and twice as long whenever that was in vain.

    Batches that a topic finds too large, though no event in them is, stay small: that does not
    change.
    """

    def __init__(
        self, config: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`config` is that of the client; `clock` gives seconds."""
        self._configured_bytes = self._largest_bytes = int(config["batch.size"])
        self._bytes = self._used_bytes = self._largest_bytes
        self._clock = clock
        self._refused_at_s = self._grown_at_s = -math.inf
        self._quiet_s = _FIRST_QUIET_S

    def settings(self) -> dict[str, Any]:
        """For the next producer, of which reports are from here on."""
        self._used_bytes = self._bytes
        return {"batch.size": self._bytes}

    def was_alone(self, report: Report) -> bool:
        """Whether the message was in a batch of its own."""
        return size_bytes(report) > self._used_bytes or self._used_bytes == 1

    @property
    def should_grow(self) -> bool:
        """Whether there should be a producer that makes batches as large as they may be."""
        is_quiet = self._clock() >= self._refused_at_s + self._quiet_s
        return self._used_bytes < self._largest_bytes and is_quiet

    def largest_settings(self) -> dict[str, Any]:
        """For that producer; `grow` says that there is one."""
        return {"batch.size": self._largest_bytes}

    def grow(self) -> None:
        """Reports are of such a producer from here on."""
        self._bytes = self._used_bytes = self._largest_bytes
        self._grown_at_s = self._clock()

    def postpone_growth(self) -> None:
        """There can be none now: it is asked for again after another quiet time."""
        self._refused_at_s = self._clock()

    def shrink(self, report: Report, error: KafkaError) -> SinkRestartError:
        """The next producer makes smaller batches; gives the error that leads to one."""
        self._bytes = max(1, self._used_bytes // _DIVISOR)
        self._refused()
        if error.code() in MESSAGE_TOO_LARGE:
            self._largest_bytes = self._bytes
        hint = (
            f"set {PREFIX}batch.size below the topic's max.message.bytes"
            if error.code() in MESSAGE_TOO_LARGE
            else "the cause is the clock of this machine (message.timestamp.after.max.ms) or an "
            "event that the broker finds invalid"
        )
        return SinkRestartError(
            f"The topic {report.topic()} refuses a batch of events: {reason(error)}. Going on "
            f"with batches of {self._bytes} bytes; {hint}."
        )

    def observe(self, error: KafkaError) -> None:
        """About a message that is not refused: small batches do not help against a wrong clock."""
        if is_clock_skew(error):
            self._bytes = self._largest_bytes

    def reason_alone(self, report: Report, error: KafkaError) -> str:
        """Why a message that was in a batch of its own is refused."""
        if error.code() in MESSAGE_TOO_LARGE:
            # So it was this one, and not the size of its batch.
            self._largest_bytes = self._configured_bytes
        # A larger one is alone in any case, and tells nothing of batches.
        if size_bytes(report) <= self._largest_bytes:
            self._refused()
        if error.code() in MESSAGE_TOO_LARGE:
            return f"Kafka refuses its {size_bytes(report)} bytes: {reason(error)}"
        return f"Kafka refuses it: {reason(error)}"

    def _refused(self) -> None:
        now_s = self._clock()
        if self._grown_at_s > self._refused_at_s:
            was_in_vain = now_s < self._grown_at_s + self._quiet_s
            longer_s = min(_LONGEST_QUIET_S, 2 * self._quiet_s)
            self._quiet_s = longer_s if was_in_vain else _FIRST_QUIET_S
        self._refused_at_s = now_s


def size_bytes(report: Report) -> int:
    return len(report.key() or b"") + len(report.value() or b"")
