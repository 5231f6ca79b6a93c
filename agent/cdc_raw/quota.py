"""How large the node lets `cdc_raw` grow, and the thread that asks until that is known."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

_ASK_AGAIN_S = 30.0
_JOIN_S = 5.0


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


class QuotaWatcher:
    """Asks for the quota on a thread of its own, from `with` to its end, until it is known."""

    def __init__(
        self,
        ask: Callable[[], Quota],
        tell: Callable[[Quota], None],
        *,
        interval_s: float = _ASK_AGAIN_S,
    ) -> None:
        """Both are called on the watch's thread; `tell` gets every answer."""
        self._ask = ask
        self._tell = tell
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quota", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A question that the node does not answer is left to end with the process.
        self._ended.set()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            quota = self._ask()
            self._tell(quota)
            if quota.limit_bytes is not None:
                return
            self._ended.wait(self._interval_s)
