"""When collections may be read, after failures: at once, behind a pause, or never again."""

import logging
from collections.abc import Callable

from pymongo.errors import PyMongoError

from mongo_agent.change_stream.backoff import Backoff
from sidecar.errors import RefusedError, SidecarError, UnavailableError
from sidecar.logs import fields

logger = logging.getLogger(__name__)


class ReadRetry:
    """Counts failures in a row. For one thread."""

    def __init__(
        self,
        backoff: Backoff,
        clock: Callable[[], float],
        first_delay_ms: int,
        *,
        waits_when_refused: bool = False,
    ) -> None:
        """`clock` gives seconds; nothing may be read before the first delay. With
        `waits_when_refused` a server that refuses the agent is tried again without end."""
        self._waits_when_refused = waits_when_refused
        self._backoff = backoff
        self._clock = clock
        self._delays_ms = backoff.delays_ms()
        self._not_before_s = clock() + first_delay_ms / 1000
        self._is_too_old = False
        self.error: SidecarError | None = None
        """What ends reading for good."""
        self.sentence = ""
        """Why the last attempt failed; empty when something was read since."""

    @property
    def may_read(self) -> bool:
        return self.error is None and self._clock() >= self._not_before_s

    def worked(self) -> None:
        """Something was read."""
        self._delays_ms = self._backoff.delays_ms()
        self._is_too_old = False
        self.sentence = ""

    def was_too_old(self, error: PyMongoError) -> None:
        """A point had left the server's history. The first time it is tried again at once, at a
        later one; a point that does not move would be tried without end."""
        if self._is_too_old:
            self.failed(error)
        self._is_too_old = True

    def failed(self, error: PyMongoError) -> None:
        """Something could not be read. What is read side by side fails together, and counts
        once."""
        if self._clock() < self._not_before_s:
            return
        delay_ms = next(self._delays_ms, None)
        if delay_ms is None:
            self.error = UnavailableError(
                f"Collections cannot be read, after {self._backoff.max_attempts} attempts: {error}."
            )
            return
        self._wait(delay_ms, error)

    def _wait(self, delay_ms: int, error: PyMongoError) -> None:
        self._not_before_s = self._clock() + delay_ms / 1000
        self.sentence = f"{str(error).removesuffix('.')}."
        logger.warning(
            "a collection cannot be read; it is tried again",
            extra=fields(pause_ms=delay_ms, error=str(error)),
        )

    def was_refused(self, error: PyMongoError) -> None:
        """Who we are is refused."""
        if self._waits_when_refused:
            self._wait(next(self._delays_ms, self._backoff.max_delay_ms), error)
            return
        self.error = RefusedError(f"MongoDB refuses the agent's credentials: {error}.")
