"""Logs conditions: one line when a condition appears, an INFO when it is resolved.

The line is an ERROR for a failing condition and a WARNING for any other.
"""

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.health.condition import EXPECTED, Condition, State, Status
from sidecar.logs import fields
from sidecar.process.lifecycle import Worker

logger = logging.getLogger(__name__)

_INTERVAL_S = 1.0
_REPEAT_S = 60.0
_UNIT = r"(?: (?:s|min|h|days|B|[KMGT]iB)\b)?"
_COUNTER = re.compile(rf"(?<![\w.:/-])\d+(?:[.,]\d+)*{_UNIT}(?![\w:/-]|\.\d)")

_Key = tuple[str, str]


@dataclass(slots=True)
class _Logged:
    condition: Condition
    since_s: float
    logged_at_s: float


class ConditionLog:
    """Logs changes between successive statuses. Not thread-safe.

    It logs a condition only in its second status, because connecting to a broker takes a moment. It
    skips conditions that occur at every start. It logs a changed message again, at most once a
    minute, and ignores changed numbers in it.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: frozenset[_Key] = frozenset()
        self._logged: dict[_Key, _Logged] = {}

    def show(self, status: Status) -> None:
        """Compares a status with the previous status."""
        now_s = self._clock()
        present = _by_key(status)
        for key in self._logged.keys() - present.keys():
            self._resolved(self._logged.pop(key), now_s)
        for key, condition in present.items():
            logged = self._logged.get(key)
            if logged is not None:
                self._compare(logged, condition, now_s)
            elif key in self._seen:
                self._logged[key] = _Logged(condition, now_s, now_s)
                _log(_level(condition), "a condition has appeared", condition)
        self._seen = frozenset(present)

    def close(self, status: Status) -> None:
        """Logs the conditions that still exist when the agent stops, worst last."""
        for condition in reversed(tuple(_by_key(status).values())):
            _log(logging.WARNING, "the agent stops and a condition still exists", condition)

    def _compare(self, logged: _Logged, condition: Condition, now_s: float) -> None:
        if _material(logged.condition) == _material(condition):
            return
        is_worse = condition.state.severity > logged.condition.state.severity
        if not is_worse and now_s - logged.logged_at_s < _REPEAT_S:
            return
        logged.condition, logged.logged_at_s = condition, now_s
        level = _level(condition) if is_worse else logging.WARNING
        _log(level, "a condition has changed", condition)

    def _resolved(self, logged: _Logged, now_s: float) -> None:
        condition = logged.condition
        logger.info(
            f"condition resolved: {condition.code}",
            extra=fields(component=condition.component, after_s=round(now_s - logged.since_s, 1)),
        )


class StatusWatch(Worker):
    """Logs changes of the status every second inside a `with` block."""

    def __init__(self, ask: Callable[[], Status], *, interval_s: float = _INTERVAL_S) -> None:
        """`ask` is called on the watch's thread and must not wait."""
        super().__init__("status", self._run)
        self._ask = ask
        self._log = ConditionLog()
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
                # One failed evaluation must not stop the logging of conditions.
                logger.exception("the status cannot be evaluated; the agent retries")


def _by_key(status: Status) -> dict[_Key, Condition]:
    return {
        (each.code, each.component): each for each in status.conditions if each.code not in EXPECTED
    }


def _level(condition: Condition) -> int:
    return logging.ERROR if condition.state is State.FAILING else logging.WARNING


def _log(level: int, event: str, condition: Condition) -> None:
    logger.log(
        level,
        condition.message,
        extra=fields(
            event=event,
            code=condition.code,
            status=condition.state.value,
            remedy=condition.remedy,
            **({"detail": condition.detail} if condition.detail else {}),
        ),
    )


def _material(condition: Condition) -> tuple[str, str]:
    """Return state and message without numbers: a change of these is worth a log line."""
    return condition.state.value, _COUNTER.sub("#", condition.message)
