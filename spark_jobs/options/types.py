"""Types of option values that only the jobs use, with the error text for each invalid value."""

import posixpath
import re
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from sidecar.properties.types import LONGEST_TOPIC, CommaList, Unit

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_TABLE = re.compile(r"\w+\.\w+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?(.*)", re.DOTALL)
_SECONDS = re.compile(r"(\d+)\s*(s|m|min|h|d)", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_LARGEST_INT = (1 << 31) - 1
_LATEST_S = 100_000_000_000
"""In the year 5138. Larger numbers are milliseconds."""
_EARLIEST_US = 100_000_000_000_000
"""In 1973. Smaller numbers are probably not microseconds."""
_A_DAY_S = 86_400
_IN_BOTH = ("missing ), unterminated", "unterminated character set", "nothing to repeat")
"""Messages of Python for regular expressions that Java rejects too."""
Count = Annotated[int, Field(ge=1, le=_LARGEST_INT)]
"""A positive `int` of the JVM."""


def _topic(value: str) -> str:
    if not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise ValueError("must be a topic name: letters, digits, `.`, `_` and `-`")
    if len(value) > LONGEST_TOPIC:
        raise ValueError(f"must have at most {LONGEST_TOPIC} characters, not {len(value)}")
    return value


def _topics(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            _topic(value)
        except ValueError as error:
            hint = "; use `topics.pattern` for a pattern" if re.search(r"[*+?|()\[]", value) else ""
            raise ValueError(f"contains `{value}`, which {error}{hint}") from error
    return tuple(dict.fromkeys(values))


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        # Java accepts syntax that Python rejects.
        if str(error).startswith(_IN_BOTH):
            raise ValueError(f"must be a regular expression: {error}") from error
    return value


def _table(value: str) -> str:
    if not _TABLE.fullmatch(value):
        raise ValueError("must be `keyspace.table`")
    return value


def _tables(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not _TABLE.fullmatch(value):
            raise ValueError(
                f"must be a list of `keyspace.table` without patterns; `{value}` is invalid"
            )
    return tuple(dict.fromkeys(values))


def _location(value: str) -> str:
    match = _SCHEME.fullmatch(value)
    rest = value if match is None else match[3]
    if not rest.strip("/ ") and (match is not None or not rest.strip()):
        raise ValueError("must be a folder or a URI with a path, such as `s3a://bucket/folder`")
    return value


def _file(value: Path) -> Path:
    if value.is_dir():
        raise ValueError("must be a file, but is a directory")
    if not value.absolute().parent.is_dir():
        raise ValueError(f"must be in an existing directory; create {value.absolute().parent}")
    return value


def _seconds(value: Any) -> Any:
    match = _SECONDS.fullmatch(value.strip()) if isinstance(value, str) else None
    return value if match is None else int(match[1]) * _UNITS[match[2].lower()]


def _lower_all(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.lower() for value in values))


def _second_of_time(value: int) -> int:
    if value > _LATEST_S:
        raise ValueError("must be in seconds since 1970, but looks like milliseconds")
    return value


def _microsecond_of_time(value: int) -> int:
    if value > (time.time() + _A_DAY_S) * 1_000_000:
        raise ValueError(
            "must not be in the future, because it would delete every write until then"
        )
    return value


Topic = Annotated[str, AfterValidator(_topic)]
TopicList = Annotated[CommaList, AfterValidator(_topics)]
LowerCaseList = Annotated[CommaList, AfterValidator(_lower_all)]
TopicPattern = Annotated[str, AfterValidator(_pattern)]
"""A Java regular expression."""
TableName = Annotated[str, AfterValidator(_table)]
"""`keyspace.table`."""
TableList = Annotated[CommaList, AfterValidator(_tables)]
Location = Annotated[str, AfterValidator(_location)]
"""A folder, as a path or a URI."""
WritableFile = Annotated[Path, AfterValidator(_file)]
"""A file in an existing directory."""
Seconds = Annotated[int, BeforeValidator(_seconds), Unit("seconds")]
"""Seconds: `864000`, `240h`, `10d`."""
SecondOfTime = Annotated[int, Field(ge=0), AfterValidator(_second_of_time)]
MicrosecondOfTime = Annotated[int, Field(ge=0), AfterValidator(_microsecond_of_time)]


def require_separate(name: str, location: str | None, others: Mapping[str, str | None]) -> None:
    """Raise ValueError if a location equals, contains or is inside one of `others`.

    `name` and the keys of `others` are option names. None is ignored. Compares only the text. Delta
    Lake ignores subfolders whose names begin with `_`, so locations there are allowed.
    """
    for other, place in others.items():
        if location and place and _overlap(location, place):
            raise ValueError(
                f"`{name}` and `{other}` overlap. Use two folders, neither inside the other"
            )


def _overlap(one: str, other: str) -> bool:
    outer, inner = sorted((_plain(one), _plain(other)), key=len)
    return inner == outer or (inner.startswith(f"{outer}/") and inner[len(outer) + 1] != "_")


def parse_moment(text: str, form: str) -> datetime:
    """Parse an ISO-8601 time. `form` describes the accepted values in the error message."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError(f"must be {form}") from error
    if moment.tzinfo is None:
        raise ValueError("must include a time zone, such as 2026-11-26T20:15:00Z")
    return moment


def early_time_warnings(**times_us: int | None) -> tuple[str, ...]:
    """Warn about implausibly early times. Arguments are option names with `_` for `.`."""
    return tuple(
        f"`{name.replace('_', '.')}={value}` is a time before 1974. The unit is microseconds; "
        "multiply a time in seconds by 1000000."
        for name, value in times_us.items()
        if value is not None and value < _EARLIEST_US
    )


def _plain(location: str) -> str:
    match = _SCHEME.fullmatch(location)
    if match is None or match[1].lower() == "file":
        path = location if match is None else f"/{match[3].lstrip('/')}"
        return posixpath.normpath(path)
    return f"{match[1].lower()}://{posixpath.normpath(match[3])}"
