"""What a `$match` stage lets through, for the conditions that the agent makes."""

import re
from collections.abc import Mapping
from typing import Any


def passes(condition: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """`event` has its fields by dotted name. Conditions that are not known raise ValueError."""
    return all(_holds(name, wanted, event) for name, wanted in condition.items())


def _holds(name: str, wanted: Any, event: Mapping[str, Any]) -> bool:
    match name:
        case "$and":
            return all(passes(each, event) for each in wanted)
        case "$or":
            return any(passes(each, event) for each in wanted)
        case "$nor":
            return not any(passes(each, event) for each in wanted)
    value = event.get(name)
    match wanted:
        case {"$in": values}:
            return value in values
        case {"$nin": values}:
            return value not in values
        case {"$eq": other}:
            return bool(value == other)
        case {"$regex": pattern, "$options": "i"}:
            expression = pattern.replace(r"\z", r"\Z")
            return value is not None and re.search(expression, value, re.IGNORECASE) is not None
    raise ValueError(f"{name} {wanted}")
