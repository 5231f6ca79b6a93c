"""Values that no property accepts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from sidecar.properties.types import Unit

TOO_LARGE = "9" * 30


def kinds(info: FieldInfo) -> set[Any]:
    """The types that a value may have."""
    return {info.annotation, *get_args(info.annotation)}


def is_choice(info: FieldInfo) -> bool:
    return any(get_origin(kind) is Literal for kind in kinds(info))


def bad_values(info: FieldInfo) -> Iterator[tuple[str, str]]:
    """A word for what is wrong, and the value."""
    units = {item.name for item in info.metadata if isinstance(item, Unit)}
    found = kinds(info)
    if is_choice(info):
        yield "choice", "no-such-choice"
        yield "empty", ""
    elif bool in found:
        yield "type", "perhaps"
        yield "empty", ""
    elif int in found or float in found:
        yield "type", "eighty"
        yield "below", "-7"
        if "milliseconds" not in units:
            # A time without end is one that Java's files have, and taken for a very long one.
            yield "above", TOO_LARGE
        yield "empty", ""
        if "bytes" in units:
            yield "unit", "5 parsecs"
    elif Path in found:
        yield "empty", ""
        yield "nul", "/a\\u0000b"
