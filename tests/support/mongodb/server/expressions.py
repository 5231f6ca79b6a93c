"""The expressions that stages and `$expr` use here: paths, literals, documents and lists of them,
and a few operators.

Every other expression is refused, so that none is taken for a literal.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.wire import Document, encode

ABSENT = object()
KEEP, PRUNE, DESCEND = "$$KEEP", "$$PRUNE", "$$DESCEND"
"""The decisions of `$redact`."""


def evaluated(expression: Any, document: Document) -> Any:
    """The value of an expression over a document; `ABSENT` for a path that leads nowhere."""
    if isinstance(expression, str) and expression.startswith("$$"):
        name, _, path = expression[2:].partition(".")
        if expression in (KEEP, PRUNE, DESCEND):
            return expression
        if name not in ("ROOT", "CURRENT"):
            raise CommandError(17276, f"Use of undefined variable: {name}")
        return _at(document, path) if path else document
    if isinstance(expression, str) and expression.startswith("$"):
        return _at(document, expression[1:])
    if isinstance(expression, Mapping):
        operator = next((name for name in expression if name.startswith("$")), None)
        if operator is not None:
            if len(expression) > 1:
                message = "an expression specification must contain exactly one field"
                raise CommandError(15983, message)
            return _operated(operator, expression[operator], document)
        values = {name: evaluated(each, document) for name, each in expression.items()}
        return {name: value for name, value in values.items() if value is not ABSENT}
    if isinstance(expression, list):
        values_or_null = [evaluated(each, document) for each in expression]
        return [None if value is ABSENT else value for value in values_or_null]
    return expression


def is_true(value: Any) -> bool:
    """As the server takes a value for a condition: all but false, null, nothing and 0."""
    return value is not ABSENT and value is not None and value != 0


def _at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        if isinstance(value, list) or name.startswith("$"):
            raise CommandError(2, f"the path '${path}' is not supported")
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
    return value


def _operated(operator: str, argument: Any, document: Document) -> Any:
    if operator == "$literal":
        return argument
    if operator == "$cond":
        choice = argument["then" if is_true(evaluated(argument["if"], document)) else "else"]
        return evaluated(choice, document)
    if operator not in _OPERATORS:
        raise CommandError(168, f"Unrecognized expression '{operator}'")
    arguments = argument if isinstance(argument, list) else [argument]
    return _OPERATORS[operator]([evaluated(each, document) for each in arguments])


def _concat(values: list[Any]) -> str | None:
    if any(value is ABSENT or value is None for value in values):
        return None
    if not all(isinstance(value, str) for value in values):
        raise CommandError(16702, "$concat only supports strings")
    return "".join(values)


def _to_string(values: list[Any]) -> str | None:
    (value,) = values
    if value is ABSENT or value is None:
        return None
    if isinstance(value, dict | list):
        kind = "object" if isinstance(value, dict) else "array"
        raise CommandError(241, f"Unsupported conversion from {kind} to string in $convert")
    return str(value)


def _bson_size(values: list[Any]) -> int | None:
    (value,) = values
    if value is ABSENT or value is None:
        return None
    if not isinstance(value, dict):
        raise CommandError(31393, "$bsonSize requires a document input")
    return len(encode(value))


def _compared(is_so: Callable[[bytes, bytes], bool]) -> Callable[[list[Any]], bool]:
    """All types compare with each other here, and nothing is less than anything."""

    def compare(values: list[Any]) -> bool:
        left, right = (b"" if value is ABSENT else order(value) for value in values)
        return is_so(left, right)

    return compare


_OPERATORS: dict[str, Callable[[list[Any]], Any]] = {
    "$add": sum,
    "$concat": _concat,
    "$bsonSize": _bson_size,
    "$toString": _to_string,
    "$toUpper": lambda values: (_to_string(values) or "").upper(),
    "$eq": _compared(lambda left, right: left == right),
    "$ne": _compared(lambda left, right: left != right),
    "$gt": _compared(lambda left, right: left > right),
    "$gte": _compared(lambda left, right: left >= right),
    "$lt": _compared(lambda left, right: left < right),
    "$lte": _compared(lambda left, right: left <= right),
    "$and": lambda values: all(map(is_true, values)),
    "$or": lambda values: any(map(is_true, values)),
    "$not": lambda values: not is_true(values[0]),
    "$ifNull": lambda values: next(
        (value for value in values[:-1] if value is not ABSENT and value is not None), values[-1]
    ),
}
