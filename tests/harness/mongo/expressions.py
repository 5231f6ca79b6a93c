"""The expressions that stages use here: paths, literals, documents and lists of them.

Every other expression is refused, so that none is taken for a literal.
"""

from collections.abc import Mapping
from typing import Any

from tests.harness.mongo.errors import CommandError
from tests.harness.mongo.wire import Document

ABSENT = object()


def evaluated(expression: Any, document: Document) -> Any:
    """The value of an expression over a document; `ABSENT` for a path that leads nowhere."""
    if isinstance(expression, str) and expression.startswith("$"):
        return _at(document, expression[1:])
    if isinstance(expression, Mapping):
        if list(expression) == ["$literal"]:
            return expression["$literal"]
        for name in expression:
            if name.startswith("$"):
                raise CommandError(168, f"Unrecognized expression '{name}'")
        values = {name: evaluated(each, document) for name, each in expression.items()}
        return {name: value for name, value in values.items() if value is not ABSENT}
    if isinstance(expression, list):
        values_or_null = [evaluated(each, document) for each in expression]
        return [None if value is ABSENT else value for value in values_or_null]
    return expression


def _at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        if isinstance(value, list) or name.startswith("$"):
            raise CommandError(2, f"the path '${path}' is not supported")
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
    return value
