"""Pauses between connection attempts; the default is that of Debezium's manuals."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

_LEAST_OF_PAUSE = 0.75


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double up to a maximum, for a number of attempts."""

    initial_delay_ms: int = 1000
    max_delay_ms: int = 120_000
    max_attempts: int = 16

    def jittered_s(self, delay_ms: int) -> float:
        """A pause with jitter, in seconds, so that agents do not reconnect simultaneously."""
        return delay_ms / 1000 * random.uniform(_LEAST_OF_PAUSE, 1.0)

    def delays_ms(self) -> Iterator[int]:
        """The pause after each failed attempt; none after the last one."""
        delay_ms = self.initial_delay_ms
        for _ in range(self.max_attempts):
            yield min(delay_ms, self.max_delay_ms)
            delay_ms = min(2 * delay_ms, self.max_delay_ms)
