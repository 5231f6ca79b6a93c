"""Messages with a schema, taken apart, and held against what Connect makes of them."""

import json
import struct
from dataclasses import dataclass
from typing import Any

_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True, slots=True)
class WithSchema:
    """A message of `JsonConverter`. The schema is text, as it stands there."""

    schema: str
    payload: bytes

    @staticmethod
    def of(message: bytes) -> "WithSchema":
        text = message.decode()
        start = '{"schema":'
        assert text.startswith(start)
        assert text.endswith("}")
        _, end = json.JSONDecoder().raw_decode(text, len(start))
        middle = ',"payload":'
        assert text.startswith(middle, end)
        return WithSchema(text[len(start) : end], text[end + len(middle) : -1].encode())

    @property
    def parsed_schema(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.schema)
        return parsed


def is_same(schema: dict[str, Any], ours: Any, theirs: Any) -> bool:
    """Whether a value that Connect read and wrote anew is ours. What is absent is null to it, and
    what is no number, which it writes as a string, it reads as zero."""
    if ours is None or theirs is None:
        return ours is None and theirs is None
    match schema["type"]:
        case "struct":
            fields = schema["fields"]
            assert {field["field"] for field in fields} >= theirs.keys()
            return ours.keys() <= theirs.keys() and all(
                is_same(field, ours.get(field["field"]), theirs[field["field"]]) for field in fields
            )
        case "array":
            return len(ours) == len(theirs) and all(
                is_same(schema["items"], *pair) for pair in zip(ours, theirs, strict=True)
            )
        case "map" if isinstance(ours, dict):
            return ours.keys() == theirs.keys() and all(
                is_same(schema["values"], ours[key], theirs[key]) for key in ours
            )
        case "map":
            return _is_same_map(schema, ours, theirs)
        case "double" | "float":
            if ours in _NO_NUMBERS:
                return bool(theirs == 0)
            if schema["type"] == "float":
                # A zero has no sign in Connect's decimals.
                return struct.pack("<f", ours + 0.0) == struct.pack("<f", theirs + 0.0)
            return float(ours) == float(theirs)
    return bool(ours == theirs) and isinstance(ours, bool) == isinstance(theirs, bool)


def _is_same_map(schema: dict[str, Any], ours: list[Any], theirs: list[Any]) -> bool:
    """A hash table has lost the order, and of equal keys all but the last."""
    if len(theirs) > len(ours):
        return False
    entry = {
        "type": "struct",
        "fields": [{**schema["keys"], "field": "key"}, {**schema["values"], "field": "value"}],
    }
    pairs = [dict(zip(("key", "value"), pair, strict=True)) for pair in theirs]
    found = [
        any(is_same(entry, {"key": key, "value": value}, pair) for pair in pairs)
        for key, value in ours
    ]
    keys = [any(is_same(schema["keys"], key, pair["key"]) for pair in pairs) for key, _ in ours]
    return all(keys) and (all(found) or len(theirs) < len(ours))
