"""Values compared with their types."""

import struct
from typing import Any


def exact(value: Any) -> Any:
    """A value that equals only what is the same to the bit: NaN, and 0.0 and -0.0."""
    if isinstance(value, float):
        return struct.pack(">d", value)
    if isinstance(value, dict):
        return {name: exact(field) for name, field in value.items()}
    if isinstance(value, list | tuple):
        return [exact(element) for element in value]
    return value
