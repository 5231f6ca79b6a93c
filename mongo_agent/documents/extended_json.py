"""Extended JSON from a configuration or a signal. Every fault of it is a ValueError: pymongo raises
errors of ten kinds, and whoever sends a signal must not be able to end the thread that reads it."""

import json
from collections.abc import Mapping
from typing import Any

from bson import json_util
from bson.errors import BSONError

MAX_DEPTH = 100
"""A server refuses documents with more levels."""


def parse_extended_json(text: str | bytes) -> Any:
    """Extended JSON. Raises ValueError with the reason."""
    try:
        found = json_util.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg} at column {error.colno})") from error
    except (BSONError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise ValueError(f"it is no extended JSON ({error})") from error
    except RecursionError as error:
        raise ValueError(f"it has more than {MAX_DEPTH} levels") from error
    return check_depth(found)


def parse_json(text: str | bytes) -> Any:
    """Plain JSON. Raises ValueError with the reason."""
    try:
        return check_depth(json.loads(text))
    except RecursionError as error:
        raise ValueError(f"it has more than {MAX_DEPTH} levels") from error


def check_depth(value: Any) -> Any:
    """The value. Raises ValueError where it has more than `MAX_DEPTH` levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [each for one in level for each in _members(one)]
        if not level:
            return value
    raise ValueError(f"it has more than {MAX_DEPTH} levels")


def _members(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list) else []
