"""Formats log lines as text for a terminal, or one JSON object per line for a container.

A line consists of a constant message and fields:
`log.info("segment finished", extra=fields(segment=name))`.
JSON lines also include the constant fields of the process.
A traceback is printed only at level DEBUG.
"""

import json
import logging
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import IO, Any, Literal, Self

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_FIELDS = "sidecar_fields"
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, separators of lines, and marks that reorder text."""
_LIBRARIES = frozenset(("asyncio", "botocore", "google", "urllib3", "waitress", "watchdog"))
_FIRST_PAUSE_S = 10.0
_LONGEST_PAUSE_S = 600.0


_constant_fields: Mapping[str, object] = MappingProxyType({})


def set_constant_fields(values: Mapping[str, object]) -> None:
    """Replace the fields that every JSON line of the process includes. A line's own fields take
    precedence. Thread-safe."""
    global _constant_fields
    _constant_fields = MappingProxyType(dict(values))


def fields(**values: object) -> dict[str, Any]:
    """Build the `extra` argument of a log call."""
    return {_FIELDS: values}


def configure(
    log_format: LogFormat,
    level: LogLevel,
    stream: IO[str] | None = None,
    hide: Callable[[str], str] = str,
) -> None:
    """Write every log line of the process to `stream` (default: standard error).

    `hide` removes secrets from a line.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter(hide) if log_format == "json" else TextFormatter(hide))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


@dataclass(frozen=True, slots=True)
class LogLine:
    """A warning or an error: time (UTC), level, message, and fields as text."""

    time: str
    level: str
    message: str
    fields: str


class _Formatter(logging.Formatter):
    def __init__(self, hide: Callable[[str], str] = str) -> None:
        super().__init__()
        self._hide = hide


class TextFormatter(_Formatter):
    """`2026-01-31T12:00:00.250Z INFO    agent.pipeline: segment finished segment=… events=…`"""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname:7} {record.name}: {record.getMessage()}"
        line += "".join(f" {name}={_plain(value)}" for name, value in _fields(record).items())
        trace = _traceback(self, record)
        line = one_line(self._hide(line))
        return f"{line}\n{self._hide(trace)}" if trace else line


class JsonFormatter(_Formatter):
    """`{"ts":…,"level":…,"logger":…,"message":…, fields…}`.

    The first four take precedence over fields, and fields over the constant fields.
    """

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
        whole = {**_constant_fields, **_fields(record), **line}
        return one_line(self._hide(json.dumps(whole, default=str, ensure_ascii=False)))


class RecentWarnings(logging.Handler):
    """The latest warnings and errors of the process, recorded inside a `with` block."""

    def __init__(self, limit: int = 30, hide: Callable[[str], str] = str) -> None:
        """`hide` removes secrets from a line."""
        super().__init__(logging.WARNING)
        self._hide = hide
        self._lines: deque[LogLine] = deque(maxlen=limit)

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """Newest first."""
        return tuple(reversed(self._lines))

    def emit(self, record: logging.LogRecord) -> None:
        text = " ".join(f"{name}={_plain(value)}" for name, value in _fields(record).items())
        level = record.levelname.lower()
        message, library = self._hide(record.getMessage()), record.name.partition(".")[0]
        if library in _LIBRARIES:
            message, text = f"Message of the library {library}", message
        self._lines.append(LogLine(_time(record), level, message, self._hide(text)))

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *exception: object) -> None:
        logging.getLogger().removeHandler(self)


class RateLimitedLog:
    """Logs a lasting condition immediately, then after growing pauses (10 s to 10 minutes).

    A key identifies each condition.
    """

    def __init__(
        self, logger: logging.Logger, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger
        self._clock = clock
        self._conditions: dict[str, _Condition] = {}

    def log(self, key: str, message: str, level: int = logging.WARNING, **values: object) -> bool:
        """Log a condition if due, with repeat count and duration. Return whether it was logged."""
        now_s = self._clock()
        condition = self._conditions.get(key)
        if condition is None:
            self._conditions[key] = _Condition(now_s)
        elif now_s < condition.next_s:
            condition.suppressed += 1
            return False
        else:
            values |= {
                "repeated": condition.suppressed + 1,
                "for_s": round(now_s - condition.since_s, 1),
            }
            condition.logged(now_s)
        self._logger.log(level, message, extra=fields(**values))
        return True

    def resolved(self, key: str, message: str, **values: object) -> bool:
        """Log the end of a condition, if the condition was logged. Return whether it was."""
        condition = self._conditions.pop(key, None)
        if condition is None:
            return False
        lasted_s = round(self._clock() - condition.since_s, 1)
        self._logger.info(message, extra=fields(**values, after_s=lasted_s))
        return True


class _Condition:
    """When a condition began, and when it is logged next."""

    def __init__(self, now_s: float) -> None:
        self.since_s = now_s
        self.pause_s = _FIRST_PAUSE_S
        self.next_s = now_s + self.pause_s
        self.suppressed = 0

    def logged(self, now_s: float) -> None:
        self.pause_s = min(self.pause_s * 2, _LONGEST_PAUSE_S)
        self.next_s = now_s + self.pause_s
        self.suppressed = 0


def one_line(text: str) -> str:
    """Escape what could end a line or steer a terminal, as JSON does: names of collections and
    files may contain any character."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
