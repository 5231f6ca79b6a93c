"""Parsing of extended JSON from a configuration or a signal.

Every error is a ValueError. pymongo raises ten exception types, and an invalid signal must not end
the thread that reads signals.
"""

import json
from collections.abc import Mapping
from typing import Any

from bson import DatetimeConversion, json_util
from bson.errors import BSONError

_MAX_LENGTH = 1 << 20
_OPTIONS = json_util.JSONOptions(datetime_conversion=DatetimeConversion.DATETIME_AUTO)
"""Python has no date before year 1 or after 9999."""
MAX_DEPTH = 100
"""The server's limit for nested levels."""


def parse_extended_json(text: str | bytes) -> Any:
    """Parse extended JSON. Raises ValueError."""
    try:
        found = json_util.loads(_bounded(text), json_options=_OPTIONS)
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON ({error.msg} at column {error.colno})") from error
    except (BSONError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise ValueError(f"invalid extended JSON ({error})") from error
    except RecursionError as error:
        raise ValueError(f"more than {MAX_DEPTH} nested levels") from error
    return check_depth(found)


def parse_filter(text: str) -> dict[str, Any]:
    """Parse the filter of a snapshot. Raises ValueError."""
    document = parse_extended_json(text)
    if not isinstance(document, dict):
        raise ValueError("not a document")
    return document


def parse_json(text: str | bytes) -> Any:
    """Parse plain JSON. Raises ValueError."""
    try:
        return check_depth(json.loads(_bounded(text)))
    except RecursionError as error:
        raise ValueError(f"more than {MAX_DEPTH} nested levels") from error


def _bounded(text: str | bytes) -> str | bytes:
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"more than {_MAX_LENGTH} characters")
    return text


def check_depth(value: Any) -> Any:
    """Return the value. Raises ValueError for more than `MAX_DEPTH` levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [each for one in level for each in _members(one)]
        if not level:
            return value
    raise ValueError(f"more than {MAX_DEPTH} nested levels")


def _members(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list) else []
