"""Retries of failed snapshot reads."""

import logging
from collections.abc import Callable

from pymongo.errors import PyMongoError

from mongo_agent.change_stream.backoff import Backoff
from mongo_agent.server.errors import authentication_message, error_text
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError
from sidecar.logs import fields

logger = logging.getLogger(__name__)


class ReadRetry:
    """Counts consecutive failures. Used by one thread."""

    def __init__(
        self,
        backoff: Backoff,
        clock: Callable[[], float],
        first_delay_ms: int,
        *,
        waits_when_denied: bool = False,
    ) -> None:
        """`clock` is in seconds; reads start after the first delay.

        With `waits_when_denied` the agent retries denied access without a limit.
        """
        self._waits_when_denied = waits_when_denied
        self._backoff = backoff
        self._clock = clock
        self._delays_ms = backoff.delays_ms()
        self._not_before_s = clock() + first_delay_ms / 1000
        self.error: SidecarError | None = None
        """The error that ended all reads."""
        self.message = ""
        """Why the last read failed; empty after a successful read."""

    @property
    def may_read(self) -> bool:
        return self.error is None and self._clock() >= self._not_before_s

    def succeeded(self) -> None:
        self._delays_ms = self._backoff.delays_ms()
        self.message = ""

    def failed(self, error: PyMongoError, missing: str = "") -> None:
        """Record a failed read; `missing` is the message about a missing privilege. Parallel reads
        that fail together count once."""
        if self._clock() < self._not_before_s:
            return
        delay_ms = next(self._delays_ms, None)
        if missing and delay_ms is None and self._waits_when_denied:
            delay_ms = self._backoff.max_delay_ms
        if delay_ms is None:
            self.error = UnavailableError(
                f"Collections could not be read in {self._backoff.max_attempts} attempts: "
                f"{error_text(error)}. "
                "Check MongoDB and the privileges, or raise `connect.max.attempts`."
            )
            if missing:
                self.error = AccessDeniedError(missing)
            return
        self._wait(delay_ms, error)
        self.message = missing or self.message

    def _wait(self, delay_ms: int, error: PyMongoError) -> None:
        self._not_before_s = self._clock() + delay_ms / 1000
        self.message = f"{error_text(error)}."
        logger.warning(
            "reading a collection failed; the agent retries",
            extra=fields(pause_ms=delay_ms, error=error_text(error)),
        )

    def access_denied(self, error: PyMongoError) -> None:
        """Record that MongoDB rejected the credentials."""
        if self._waits_when_denied:
            self._wait(next(self._delays_ms, self._backoff.max_delay_ms), error)
            return
        self.error = AccessDeniedError(authentication_message(error_text(error)))
