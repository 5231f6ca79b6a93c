"""Retries of failed snapshot reads."""

import logging
from collections.abc import Callable

from pymongo.errors import PyMongoError

from mongo_agent.server.errors import authentication_message, error_text
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError
from sidecar.logs import fields
from sidecar.process.wait_policy import RetryPause

logger = logging.getLogger(__name__)


class ReadRetry:
    """Counts consecutive failures. Used by one thread."""

    def __init__(
        self,
        pause: RetryPause,
        clock: Callable[[], float],
        first_delay_ms: int,
        *,
        waits_when_denied: bool = False,
    ) -> None:
        """`clock` is in seconds; reads start after the first delay.

        With `waits_when_denied` the agent retries denied access without a limit.
        """
        self._waits_when_denied = waits_when_denied
        self._clock = clock
        self._pause = pause
        self._not_before_s = clock() + first_delay_ms / 1000
        self.error: SidecarError | None = None
        """The error that ended all reads."""
        self.message = ""
        """Why the last read failed; empty after a successful read."""

    @property
    def may_read(self) -> bool:
        return self.error is None and self._clock() >= self._not_before_s

    def note_success(self) -> None:
        self._pause.succeeded()
        self.message = ""

    def note_failure(self, error: PyMongoError, missing: str = "") -> None:
        """Record a failed read; `missing` is the message about a missing privilege. Parallel reads
        that fail together count once."""
        if self._clock() < self._not_before_s:
            return
        pause_s = self._pause.failed()
        if self._pause.is_spent and not (missing and self._waits_when_denied):
            self.error = UnavailableError(
                f"Collections could not be read in {self._pause.attempts} attempts: "
                f"{error_text(error)}. "
                "Check MongoDB and the privileges, or raise `connect.max.attempts`."
            )
            if missing:
                self.error = AccessDeniedError(missing)
            return
        self._wait(pause_s, error)
        self.message = missing or self.message

    def _wait(self, pause_s: float, error: PyMongoError) -> None:
        self._not_before_s = self._clock() + pause_s
        self.message = f"{error_text(error)}."
        logger.warning(
            "reading a collection failed; the agent retries",
            extra=fields(pause_ms=round(pause_s * 1000), error=error_text(error)),
        )

    def note_access_denied(self, error: PyMongoError) -> None:
        """Record that MongoDB rejected the credentials."""
        if self._waits_when_denied:
            self._wait(self._pause.failed(), error)
            return
        self.error = AccessDeniedError(authentication_message(error_text(error)))
