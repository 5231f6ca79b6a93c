"""When to commit a transaction."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommitRule:
    """A transaction with events is committed after `interval_s`, or as soon as it has
    `max_events` or `max_bytes` (keys and values). A position that moves without events is stored
    `position_interval_s` after the last commit."""

    interval_s: float = 0.25
    position_interval_s: float = 1.0
    max_events: int = 50_000
    max_bytes: int = 8 << 20

    def is_full(self, events: int, size_bytes: int) -> bool:
        return events >= self.max_events or size_bytes >= self.max_bytes

    def due_in_s(
        self, events: int, size_bytes: int, open_for_s: float, stored_for_s: float, has_moved: bool
    ) -> float:
        """Seconds, infinite without anything to commit. `open_for_s` is the age of the transaction
        that holds so many events, `stored_for_s` that of the last commit."""
        if events:
            is_full = self.is_full(events, size_bytes)
            return 0.0 if is_full else max(0.0, self.interval_s - open_for_s)
        return max(0.0, self.position_interval_s - stored_for_s) if has_moved else math.inf
