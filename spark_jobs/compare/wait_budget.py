"""The time that a run may wait, in all of its waits together."""

import time
from collections.abc import Callable
from typing import TypeVar

_Observed = TypeVar("_Observed")
_POLL_S = 2.0


class WaitBudget:
    """Only waits use it up; the reads and comparisons between them do not."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._left_s = seconds
        self._clock = clock
        self._pause = pause

    def until(
        self, observe: Callable[[], _Observed], is_done: Callable[[_Observed], bool]
    ) -> _Observed:
        """Observe at once and then every few seconds, until `is_done` or until the time is used up.
        Returns the last observation."""
        found = observe()
        deadline_s = self._clock() + self._left_s
        while not is_done(found) and (left_s := deadline_s - self._clock()) > 0:
            self._pause(min(_POLL_S, left_s))
            found = observe()
        self._left_s = max(0.0, deadline_s - self._clock())
        return found
