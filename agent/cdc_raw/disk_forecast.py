"""Growth rate of `cdc_raw`, and the time until it is full."""

import math
from collections import deque

_WINDOW_S = 600.0
_INTERVAL_S = 5.0
_SHORTEST_S = 30.0


class GrowthRate:
    """The rate over the last ten minutes: segments arrive as whole files, so a shorter window would
    show steps. There is no rate in the first 30 s."""

    def __init__(self) -> None:
        self._sizes: deque[tuple[float, int]] = deque()

    def add(self, size_bytes: int, at_s: float) -> None:
        """Adds a sample; `at_s` is from a monotonic clock."""
        if self._sizes and at_s - self._sizes[-1][0] < _INTERVAL_S:
            return
        self._sizes.append((at_s, size_bytes))
        while at_s - self._sizes[0][0] > _WINDOW_S:
            self._sizes.popleft()

    @property
    def bytes_per_s(self) -> float | None:
        """Negative while it shrinks; None while unknown."""
        if not self._sizes:
            return None
        (first_s, first_bytes), (last_s, last_bytes) = self._sizes[0], self._sizes[-1]
        if last_s - first_s < _SHORTEST_S:
            return None
        return (last_bytes - first_bytes) / (last_s - first_s)


def time_to_full_s(size_bytes: int, limit_bytes: int | None, bytes_per_s: float | None) -> float:
    """Seconds until the limit is reached; infinite without growth, NaN while limit or rate is
    unknown."""
    if limit_bytes is None:
        return math.nan
    if size_bytes >= limit_bytes:
        return 0.0
    if bytes_per_s is None:
        return math.nan
    return (limit_bytes - size_bytes) / bytes_per_s if bytes_per_s > 0 else math.inf
