"""How fast `cdc_raw` grows, and how long until it is full at that rate."""

import math
from collections import deque

_WINDOW_S = 600.0
_INTERVAL_S = 5.0
_SHORTEST_S = 30.0


class GrowthRate:
    """The rate over the last ten minutes: segments come as whole files, so a shorter look would see
    steps. Before half a minute has passed there is no rate."""

    def __init__(self) -> None:
        self._sizes: deque[tuple[float, int]] = deque()

    def saw(self, size_bytes: int, at_s: float) -> None:
        """`at_s` is of a clock that only goes forward."""
        if self._sizes and at_s - self._sizes[-1][0] < _INTERVAL_S:
            return
        self._sizes.append((at_s, size_bytes))
        while at_s - self._sizes[0][0] > _WINDOW_S:
            self._sizes.popleft()

    @property
    def bytes_per_s(self) -> float | None:
        """Negative while it shrinks; None while nobody can say."""
        if not self._sizes:
            return None
        (first_s, first_bytes), (last_s, last_bytes) = self._sizes[0], self._sizes[-1]
        if last_s - first_s < _SHORTEST_S:
            return None
        return (last_bytes - first_bytes) / (last_s - first_s)


def time_to_full_s(size_bytes: int, limit_bytes: int | None, bytes_per_s: float | None) -> float:
    """Seconds until the limit is reached: infinite where the size does not grow, not a number where
    limit or rate is not known."""
    if limit_bytes is None:
        return math.nan
    if size_bytes >= limit_bytes:
        return 0.0
    if bytes_per_s is None:
        return math.nan
    return (limit_bytes - size_bytes) / bytes_per_s if bytes_per_s > 0 else math.inf
