"""The thread that logs changes of an agent's status."""

import logging
import threading
from collections.abc import Callable

from sidecar.health.condition import Status
from sidecar.process.worker import Worker
from sidecar.status.log import ConditionLog

logger = logging.getLogger(__name__)

_INTERVAL_S = 1.0


class StatusWatch(Worker):
    """Logs changes of the status every second, from `with` to its end."""

    def __init__(
        self,
        ask: Callable[[], Status],
        log: ConditionLog | None = None,
        *,
        interval_s: float = _INTERVAL_S,
    ) -> None:
        """`ask` is called on the watch's thread and must not wait."""
        super().__init__("status", self._run)
        self._ask = ask
        self._log = log or ConditionLog()
        self._interval_s = interval_s

    def stop(self) -> None:
        super().stop()
        if not self.is_alive:
            self._log.close(self._ask())

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._interval_s):
            try:
                self._log.show(self._ask())
            except Exception:
                # One failed evaluation must not end the log of conditions.
                logger.exception("the status cannot be evaluated; the agent retries")
