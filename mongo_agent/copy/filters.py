"""Queries of people, in extended JSON."""

import json
from typing import Any

from bson import json_util
from bson.errors import BSONError


def read_filter(text: str) -> dict[str, Any]:
    """A filter in extended JSON. Raises ValueError with the reason."""
    try:
        document = json_util.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg} at column {error.colno})") from error
    except (BSONError, TypeError, ValueError) as error:
        raise ValueError(f"it is no extended JSON ({error})") from error
    if not isinstance(document, dict):
        raise ValueError("it is no document")
    return document
