"""How long to wait before the next attempt to connect: the manuals' table by default."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

_LEAST_OF_PAUSE = 0.75


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double from the first to the longest, so many attempts in all."""

    initial_delay_ms: int = 1000
    max_delay_ms: int = 120_000
    max_attempts: int = 16

    def jittered_s(self, delay_ms: int) -> float:
        """Seconds to wait for a pause: agents that failed together do not come back together."""
        return delay_ms / 1000 * random.uniform(_LEAST_OF_PAUSE, 1.0)

    def delays_ms(self) -> Iterator[int]:
        """The pause behind each attempt that failed; behind the last one nothing follows."""
        delay_ms = self.initial_delay_ms
        for _ in range(self.max_attempts):
            yield min(delay_ms, self.max_delay_ms)
            delay_ms = min(2 * delay_ms, self.max_delay_ms)
