"""Retries of failed snapshot reads: for all collections together, and for each failing collection.

While one collection fails, the agent copies the others. It retries the failing collection without a
limit, and doubles the pauses up to the longest. After some failures the status reports the reason.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from pymongo.errors import PyMongoError

from mongo_agent.server.errors import authentication_message, error_text
from mongo_agent.snapshot.records import CollectionSnapshot
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError
from sidecar.logs import fields
from sidecar.process.wait_policy import RetryPause

logger = logging.getLogger(__name__)
TRIES = 5
"""Number of failures after which a collection is set aside."""


class ReadRetry:
    """Counts consecutive failures. Not thread-safe."""

    def __init__(
        self,
        pause: RetryPause,
        clock: Callable[[], float],
        first_delay_ms: int,
        *,
        waits_when_denied: bool = False,
    ) -> None:
        """`clock` is in seconds; reads start after `first_delay_ms`.

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


@dataclass
class _Failing:
    pause: RetryPause
    tries: int = 0
    turns: int = 0
    """Failures, including connection failures."""
    not_before_s: float = field(default=float("-inf"))
    reason: str = ""

    @property
    def is_aside(self) -> bool:
        return self.tries >= TRIES


class FailingCollections:
    """Failing collections by snapshot number. Not thread-safe."""

    def __init__(self, new_pause: Callable[[], RetryPause], clock: Callable[[], float]) -> None:
        """`clock` is in seconds."""
        self._new_pause = new_pause
        self._clock = clock
        self._failing: dict[int, _Failing] = {}

    def may_read(self, snapshot: CollectionSnapshot) -> bool:
        failing = self._failing.get(snapshot.number)
        return failing is None or self._clock() >= failing.not_before_s

    def turns(self, snapshot: CollectionSnapshot) -> int:
        """Return the failures since the last success. Collections with fewer are read first."""
        failing = self._failing.get(snapshot.number)
        return 0 if failing is None else failing.turns

    def note_passed_over(self, snapshot: CollectionSnapshot) -> None:
        """Record a failure that may concern all collections, so that others are read first."""
        self._of(snapshot).turns += 1

    def note_failure(
        self, snapshot: CollectionSnapshot, reason: str, *, is_too_old: bool = False
    ) -> None:
        """Record a failed read. Parallel reads that fail together count once.

        `is_too_old`: the time of the read is before the server's history. The first retry follows
        at once, at a later time. Further retries pause, because the time may not advance.
        """
        if not self.may_read(snapshot):
            return
        failing = self._of(snapshot)
        failing.tries, failing.turns = failing.tries + 1, failing.turns + 1
        if is_too_old and failing.tries == 1:
            return
        failing.reason = reason
        pause_s = failing.pause.failed()
        failing.not_before_s = self._clock() + pause_s
        logger.warning(
            "reading a collection failed; the agent retries and copies the others meanwhile",
            extra=fields(
                collection=snapshot.namespace, pause_ms=round(pause_s * 1000), error=reason
            ),
        )

    def _of(self, snapshot: CollectionSnapshot) -> _Failing:
        return self._failing.setdefault(snapshot.number, _Failing(self._new_pause()))

    def note_success(self, number: int) -> None:
        self._failing.pop(number, None)

    def retry(self) -> None:
        """Retry all failing collections at once, because an operator acted."""
        self._failing.clear()

    def retain(self, numbers: Collection[int]) -> None:
        """Forget all other snapshots, because they have ended."""
        self._failing = {each: self._failing[each] for each in self._failing.keys() & numbers}

    @property
    def reasons(self) -> dict[int, str]:
        """The reasons by snapshot number, for collections that are set aside."""
        return {each: failing.reason for each, failing in self._failing.items() if failing.is_aside}

    @property
    def message(self) -> str:
        """The last failure of a collection that is not set aside yet, or an empty string."""
        soon = [each.reason for each in self._failing.values() if not each.is_aside and each.reason]
        return soon[-1] if soon else ""
