"""The limit of `cdc_raw`, and the thread that queries it until it is known."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.process.worker import Worker

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
        """True when a query failed."""
        return self.limit_bytes is None and bool(self.error)


def watch_quota(
    query: Callable[[], Quota],
    report: Callable[[Quota], None],
    *,
    interval_s: float = _RETRY_S,
) -> Worker:
    """A worker that queries the quota until it is known; `report` receives every answer."""

    def work(stopped: threading.Event) -> None:
        while not stopped.is_set():
            quota = query()
            report(quota)
            if quota.limit_bytes is not None:
                return
            stopped.wait(interval_s)

    return Worker("quota", work)
