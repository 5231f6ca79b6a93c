"""Repeats checks while an agent runs."""

import logging
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from sidecar.check.finding import Finding

logger = logging.getLogger(__name__)

_INTERVAL_S = 60.0
_JOIN_S = 5.0


class CheckWatch:
    """Makes the checks at once and every minute, on a thread of its own, from `with` to its end."""

    def __init__(
        self, check: Callable[[], Iterable[Finding]], *, interval_s: float = _INTERVAL_S
    ) -> None:
        """`check` is called on the watch's thread and may wait."""
        self._check = check
        self._interval_s = interval_s
        self._findings: tuple[Finding, ...] = ()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checks", daemon=True)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of the last complete run. Any thread may ask."""
        return self._findings

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A check that waits for a server is left to end with the process.
        self._ended.set()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._findings = tuple(self._check())
            except Exception:
                # The last findings stay, and the checks are repeated.
                logger.exception("the checks cannot be made; they are repeated")
            self._ended.wait(self._interval_s)
