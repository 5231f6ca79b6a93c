"""The size limit of `cdc_raw`, the worker that queries it, and the time until it is reached."""

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.process.lifecycle import Worker

_RETRY_S = 30.0


@dataclass(frozen=True, slots=True)
class Quota:
    """The limit of `cdc_raw`, or why it is unknown."""

    limit_bytes: int | None = None
    error: str = ""
    """Why the limit is unknown; empty before the first query."""
    remedy: str = ""

    @property
    def is_missing(self) -> bool:
        return self.limit_bytes is None and bool(self.error)


def watch_quota(
    query: Callable[[], Quota],
    report: Callable[[Quota], None],
    *,
    interval_s: float = _RETRY_S,
) -> Worker:
    """Creates a worker that queries the quota until it is known, and passes answers to `report`."""

    def work(stopped: threading.Event) -> None:
        while not stopped.is_set():
            quota = query()
            report(quota)
            if quota.limit_bytes is not None:
                return
            stopped.wait(interval_s)

    return Worker("quota", work)


_WINDOW_S = 600.0
_INTERVAL_S = 5.0
_SHORTEST_S = 30.0


class GrowthRate:
    """The highest growth rate over any period of 30 s to 10 min that ends now. So quiet minutes and
    deletions before an outage do not hide growth. The rate is unknown for the first 30 s.

    Segments arrive as whole files. If one arrives at least every 30 s, the rate is at least half
    the true rate.
    """

    def __init__(self) -> None:
        self._sizes: deque[tuple[float, int]] = deque()
        self._last: tuple[float, int] | None = None

    def add(self, size_bytes: int, at_s: float) -> None:
        """Adds a sample; `at_s` is from a monotonic clock."""
        self._last = (at_s, size_bytes)
        if not self._sizes or at_s - self._sizes[-1][0] >= _INTERVAL_S:
            self._sizes.append(self._last)
        while at_s - self._sizes[0][0] > _WINDOW_S:
            self._sizes.popleft()

    @property
    def bytes_per_s(self) -> float | None:
        """Growth rate, negative if `cdc_raw` shrinks; None if unknown."""
        if self._last is None:
            return None
        last_s, last_bytes = self._last
        rates = (
            (last_bytes - size_bytes) / (last_s - at_s)
            for at_s, size_bytes in self._sizes
            if last_s - at_s >= _SHORTEST_S
        )
        return max(rates, default=None)


def time_to_full_s(size_bytes: int, limit_bytes: int | None, bytes_per_s: float | None) -> float:
    """Seconds until `cdc_raw` reaches the limit: infinite without growth, NaN if the limit or the
    rate is unknown."""
    if limit_bytes is None:
        return math.nan
    if size_bytes >= limit_bytes:
        return 0.0
    if bytes_per_s is None:
        return math.nan
    return (limit_bytes - size_bytes) / bytes_per_s if bytes_per_s > 0 else math.inf
