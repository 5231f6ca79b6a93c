"""Computes pauses between attempts, and waits for components that do not answer."""

import logging
import random
from collections.abc import Callable
from typing import TypeVar

from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.logs import RateLimitedLog
from sidecar.process.lifecycle import Stop

logger = logging.getLogger(__name__)

# Random pauses prevent agents that failed together from retrying together.
_LEAST_OF_PAUSE = 0.75

Answered = TypeVar("Answered")


class RetryPause:
    """Pauses after failures, doubled from the first up to the longest. A success resets them."""

    def __init__(self, first_s: float, longest_s: float, attempts: int = 0) -> None:
        """`attempts` limits the pauses; 0: no limit."""
        self._first_s = first_s
        self._longest_s = longest_s
        self.present_s = first_s
        """The pause that `failed` would return."""
        self._failures = 0
        self.attempts = attempts

    @property
    def is_spent(self) -> bool:
        """True after more failures than attempts."""
        return 0 < self.attempts < self._failures

    def failed(self, *, is_jittered: bool = False) -> float:
        """Record a failure, and return the seconds to wait."""
        pause_s = self.present_s
        self._failures += 1
        self.present_s = min(self._longest_s, 2 * pause_s)
        return pause_s * random.uniform(_LEAST_OF_PAUSE, 1.0) if is_jittered else pause_s

    def succeeded(self) -> None:
        """Reset, so that the next failure returns the first pause."""
        self.present_s, self._failures = self._first_s, 0


def wait_for(
    ask: Callable[[], Answered],
    stop: Stop,
    pause: RetryPause,
    *,
    on_error: Callable[[str], None],
    waits_when_denied: bool,
) -> Answered | None:
    """Call `ask` until it answers; return None if the stop comes first. `on_error` receives the
    message of each failure. Raises AccessDeniedError without `waits_when_denied`."""
    repeated = RateLimitedLog(logger)
    while not stop.requested:
        try:
            return ask()
        except (UnavailableError, AccessDeniedError) as error:
            if isinstance(error, AccessDeniedError) and not waits_when_denied:
                raise
            on_error(str(error))
            repeated.log("wait", str(error))
            stop.wait(pause.failed())
    return None
