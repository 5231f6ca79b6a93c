"""Parses JSON of other programs within bounds of its size, values and depth.

A value of two bytes, such as `[]`, takes 64 bytes or more in memory, and parsing holds the
interpreter. So the number of values is bounded before the text is parsed.
"""

import json
from typing import Any

MAX_VALUES = 50_000


def value_bound(data: bytes | bytearray) -> int:
    """At least the number of values of a JSON text, or of the elements of an XML text."""
    return sum(map(data.count, (b",", b"[", b"{", b"<")))


def bounded_json(data: bytes, max_bytes: int, max_values: int = MAX_VALUES) -> Any:
    """The document. Raises ValueError with the reason for text that is too long, has too many
    values, is nested too deeply or is not JSON."""
    if len(data) > max_bytes:
        raise ValueError(f"the text has more than {max_bytes} bytes")
    if value_bound(data) > max_values:
        raise ValueError(f"the text has more than {max_values} values")
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("the text is nested too deeply") from error
