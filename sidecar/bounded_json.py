"""Parses JSON from other programs with limits on size, number of values and depth.

A two-byte value such as `[]` occupies at least 64 bytes in memory, and parsing holds the GIL. The
number of values is therefore limited before parsing.
"""

import json
from typing import Any

MAX_VALUES = 50_000


def value_bound(data: bytes | bytearray) -> int:
    """Return an upper bound for the values inside a JSON text, or the elements of an XML text."""
    return sum(map(data.count, (b",", b"[", b"{", b"<")))


def bounded_json(data: bytes, max_bytes: int, max_values: int = MAX_VALUES) -> Any:
    """Parse a document. Raises ValueError if the text is too long, contains too many values, is
    nested too deeply or is not JSON."""
    if len(data) > max_bytes:
        raise ValueError(f"the text has more than {max_bytes} bytes")
    if value_bound(data) > max_values:
        raise ValueError(f"the text has more than {max_values} values")
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("the text is nested too deeply") from error
