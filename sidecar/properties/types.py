"""Types of property values, as annotations for the fields of a model.

Each type parses the text of a property, and rejects invalid text with a reason. `value_text`
converts a value back to text.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, SecretStr

MASK = "********"


def value_text(value: object) -> str:
    """Format a value as a file would contain it; empty for None."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case tuple() | list() | frozenset():
            return ",".join(value_text(item) for item in value)
        case SecretStr():
            return MASK
        case _:
            return str(value)


_SIZE = re.compile(r"([0-9]+)\s*(|b|[kmgt](?:i?b|i)?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DURATION = re.compile(r"([0-9]+)\s*(|ms|s|m|min|h|d)", re.IGNORECASE)
_MILLISECONDS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000}
_MILLISECONDS |= {"h": 3_600_000, "d": 86_400_000}
_LONGEST_MS = 100 * 365 * 24 * 60 * 60 * 1000
"""A hundred years: Java files use Long.MAX_VALUE to mean never, which Python's clocks reject."""
_LARGEST = (1 << 63) - 1


NOTHING_NAMED = "must have an entry between its commas, or not be set"
"""The reason to reject a list such as `,`, which would otherwise match everything."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a number, for the documentation."""

    name: str


def _comma_list(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    parts = tuple(part.strip() for part in value.split(",") if part.strip())
    if value.strip() and not parts:
        raise ValueError(NOTHING_NAMED)
    return parts


def _byte_size(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError("must be a number of bytes such as 67108864, 65536KiB, 64Mi or 64m")
    return int(match[1]) * _FACTORS[match[2][:1].lower().replace("b", "")]


def _milliseconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError(
            "must be a whole number of milliseconds, or a number with a unit such as 10s, 5m or 1h"
        )
    return int(match[1]) * _MILLISECONDS[match[2].lower()]


def _not_negative(value: int) -> int:
    # A pydantic constraint would replace the property's own constraint.
    if value < 0:
        raise ValueError("must be at least 0")
    return value


def _at_most_the_longest(value: int) -> int:
    return min(value, _LONGEST_MS)


def _not_beyond(value: int) -> int:
    if value > _LARGEST:
        raise ValueError(f"must be at most {_LARGEST}")
    return value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.strip().upper() if isinstance(value, str) else value


def _log_level(value: Any) -> Any:
    level = _lower(value)
    return "warning" if level == "warn" else level


def kept(value: object, what: str) -> AfterValidator:
    """Accept only this value, because any other requests the unsupported feature `what`."""

    def check(given: object) -> object:
        if given != value:
            shown = str(value).lower() if isinstance(value, bool) else value
            raise ValueError(f"{what}: it must be `{shown}`")
        return given

    return AfterValidator(check)


def words(known: Collection[str], wanted: str, hint: str = "") -> AfterValidator:
    """Accept a list of these words in any case; `none` must be the only word. `wanted` describes
    the list, and `hint` completes the message about an unknown word."""

    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        given = tuple(value.lower() for value in values)
        unknown = [value for value in given if value not in known]
        if unknown:
            raise ValueError(f"must be {wanted}; `{unknown[0]}` is not one of them{hint}")
        if "none" in given and len(given) > 1:
            raise ValueError("must be `none` alone or a list without it")
        return given

    return AfterValidator(check)


CommaList = Annotated[
    tuple[str, ...], BeforeValidator(_comma_list), Unit("list, separated by commas")
]
"""`a, b,c` as ("a", "b", "c"); empty parts are dropped."""

ByteSize = Annotated[
    int,
    AfterValidator(_not_negative),
    AfterValidator(_not_beyond),
    BeforeValidator(_byte_size),
    Unit("bytes"),
]
"""Bytes: `1048576`, `1024KiB`, `1Mi`, `1m`. All units are powers of 1024, as in Cassandra."""

Milliseconds = Annotated[
    int,
    AfterValidator(_not_negative),
    AfterValidator(_at_most_the_longest),
    BeforeValidator(_milliseconds),
    Unit("milliseconds"),
]
"""Milliseconds: `10000`, `10s`, `5m` (minutes), `1h`, `1d`. The maximum is 100 years."""

LowerCase = BeforeValidator(_lower)
"""Accepts any case: `Annotated[Literal["initial", "never"], LowerCase]`."""

UpperCase = BeforeValidator(_upper)
"""Accepts any case for names in upper case."""

LogLevelName = BeforeValidator(_log_level)
"""A log level in any case; log4j's `warn` means `warning`."""


LONGEST_TOPIC = 249
"""Maximum length of a topic name in Kafka."""
_LONGEST_PREFIX = LONGEST_TOPIC - len(".k.t")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]")


def _topic_prefix(value: str) -> str:
    if _NOT_ALLOWED.search(value):
        hint = "; put comments on a separate line" if re.search(r"\s[#!]", value) else ""
        raise ValueError(f"may only contain letters, digits, `.`, `_` and `-`{hint}")
    if len(value) > _LONGEST_PREFIX:
        raise ValueError(
            f"has {len(value)} characters; at most {_LONGEST_PREFIX} are allowed: Kafka allows "
            f"{LONGEST_TOPIC} for a topic name, which starts with the prefix"
        )
    return value


def _topic_name(value: str | None) -> str | None:
    if value is not None and not (_TOPIC.fullmatch(value) and value.strip(".")):
        raise ValueError("must have at most 249 letters, digits, `.`, `_` and `-`")
    return value


TopicName = Annotated[str | None, AfterValidator(_topic_name)]
"""A whole topic name; None: no topic."""
TopicPrefix = Annotated[str, AfterValidator(_topic_prefix)]
"""First part of topic names: Kafka's characters, short enough for the rest of the name."""
