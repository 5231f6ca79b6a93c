"""Log lines: text for a terminal, one JSON object a line for a container.

A line is a constant message and fields: `log.info("segment finished", extra=fields(segment=name))`.
A traceback is printed only when the level is DEBUG.
"""

import json
import logging
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any, Literal, Self

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_FIELDS = "sidecar_fields"
_FIRST_PAUSE_S = 10.0
_LONGEST_PAUSE_S = 600.0


def fields(**values: object) -> dict[str, Any]:
    """The `extra` argument of a log call."""
    return {_FIELDS: values}


def configure(
    log_format: LogFormat,
    level: LogLevel,
    stream: IO[str] | None = None,
    hide: Callable[[str], str] = str,
) -> None:
    """Send every log line of the process to `stream` (standard error) in one form; `hide` takes out
    of a line what nobody may see."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter(hide) if log_format == "json" else TextFormatter(hide))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


@dataclass(frozen=True, slots=True)
class TroubleLine:
    """A warning or an error: when (UTC), how bad, the sentence and its fields as text."""

    time: str
    level: str
    sentence: str
    fields: str


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.250Z INFO    agent.pipeline: segment finished segment=… events=…`"""

    def __init__(self, hide: Callable[[str], str] = str) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname:7} {record.name}: {record.getMessage()}"
        line += "".join(f" {name}={_plain(value)}" for name, value in _fields(record).items())
        trace = _traceback(self, record)
        return self._hide(f"{line}\n{trace}" if trace else line)


class JsonFormatter(logging.Formatter):
    """`{"ts":…,"level":…,"logger":…,"message":…, fields…}`; a field never hides the first four."""

    def __init__(self, hide: Callable[[str], str] = str) -> None:
        super().__init__()
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        trace = _traceback(self, record)
        if trace:
            line["traceback"] = trace
        return self._hide(json.dumps(_fields(record) | line, default=str, ensure_ascii=False))


class RecentTrouble(logging.Handler):
    """Keeps the last warnings and errors of the process for people, from `with` to its end."""

    def __init__(self, limit: int = 30, hide: Callable[[str], str] = str) -> None:
        """`hide` as for `configure`."""
        super().__init__(logging.WARNING)
        self._hide = hide
        self._lines: deque[TroubleLine] = deque(maxlen=limit)

    @property
    def lines(self) -> tuple[TroubleLine, ...]:
        """The newest first."""
        return tuple(reversed(self._lines))

    def emit(self, record: logging.LogRecord) -> None:
        told = " ".join(f"{name}={_plain(value)}" for name, value in _fields(record).items())
        level = record.levelname.lower()
        sentence = self._hide(record.getMessage())
        self._lines.append(TroubleLine(_time(record), level, sentence, self._hide(told)))

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *exception: object) -> None:
        logging.getLogger().removeHandler(self)


class Repeated:
    """Says a condition that goes on once, and again after growing pauses (10 s to 10 minutes).

    A condition has a key; `say` answers whether a line was written, `over` writes one more line
    when the condition had been said.
    """

    def __init__(
        self, logger: logging.Logger, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds."""
        self._logger = logger
        self._clock = clock
        self._conditions: dict[str, _Condition] = {}

    def say(self, key: str, message: str, level: int = logging.WARNING, **values: object) -> bool:
        """Write the line if its time has come, with how often it was held back and since when."""
        now_s = self._clock()
        condition = self._conditions.get(key)
        if condition is None:
            self._conditions[key] = _Condition(now_s)
        elif now_s < condition.next_s:
            condition.held_back += 1
            return False
        else:
            values |= {
                "repeated": condition.held_back + 1,
                "for_s": round(now_s - condition.since_s, 1),
            }
            condition.said_again(now_s)
        self._logger.log(level, message, extra=fields(**values))
        return True

    def over(self, key: str, message: str, **values: object) -> bool:
        """The condition has ended; silent when it had never been said."""
        condition = self._conditions.pop(key, None)
        if condition is None:
            return False
        lasted_s = round(self._clock() - condition.since_s, 1)
        self._logger.info(message, extra=fields(**values, after_s=lasted_s))
        return True


class _Condition:
    """When a condition began and when it may be said again."""

    def __init__(self, now_s: float) -> None:
        self.since_s = now_s
        self.pause_s = _FIRST_PAUSE_S
        self.next_s = now_s + self.pause_s
        self.held_back = 0

    def said_again(self, now_s: float) -> None:
        self.pause_s = min(self.pause_s * 2, _LONGEST_PAUSE_S)
        self.next_s = now_s + self.pause_s
        self.held_back = 0


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return dict(getattr(record, _FIELDS, {}))


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if not record.exc_info or not logging.getLogger().isEnabledFor(logging.DEBUG):
        return ""
    return formatter.formatException(record.exc_info)


def _plain(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or set(text) & set(' "=\n\t') else text
