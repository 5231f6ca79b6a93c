"""How large the node lets `cdc_raw` grow, and the thread that asks until that is known."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.runtime.worker import Worker

_ASK_AGAIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Quota:
    """The limit of `cdc_raw`, or why it is not known."""

    limit_bytes: int | None = None
    error: str = ""
    """Why the node does not report it; empty while nobody has asked."""
    remedy: str = ""

    @property
    def is_missing(self) -> bool:
        """Nobody could say it."""
        return self.limit_bytes is None and bool(self.error)


def watch_quota(
    ask: Callable[[], Quota],
    report: Callable[[Quota], None],
    *,
    interval_s: float = _ASK_AGAIN_S,
) -> Worker:
    """Asks for the quota on a thread of its own, from `with` to its end, until it is known.
    `report` gets every answer; both are called on that thread."""

    def work(stopped: threading.Event) -> None:
        while not stopped.is_set():
            quota = ask()
            report(quota)
            if quota.limit_bytes is not None:
                return
            stopped.wait(interval_s)

    return Worker("quota", work)
