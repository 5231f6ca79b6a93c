"""The query language as far as `find`, writes and a change stream's `$match` use it here.

Paths are dotted and go through arrays as the server's do. An operator that is not here is refused
as the server refuses an unknown one.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bson import Decimal128, Regex

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.expressions import evaluated, is_true
from tests.support.mongodb.server.key_string import order, type_order

_COMPARISONS = ("$gt", "$gte", "$lt", "$lte")


def is_match(query: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    return all(_holds(name, condition, document) for name, condition in query.items())


def check_query(query: Mapping[str, Any]) -> None:
    """Raises the error 2 for an operator that is unknown or not well formed, also when there is
    no document to match."""
    for name, condition in query.items():
        if name in ("$and", "$or", "$nor"):
            if not isinstance(condition, list) or not condition:
                raise CommandError(2, f"{name} must be a nonempty array")
            for part in condition:
                check_query(part)
        elif name != "$expr":
            _holds(name, condition, {})


def values_at(document: Any, path: str) -> Iterator[Any]:
    """Every value at a dotted path; arrays on the way are entered, by index or element-wise."""
    name, _, rest = path.partition(".")
    if isinstance(document, Mapping):
        if name in document:
            yield from values_at(document[name], rest) if rest else (document[name],)
    elif isinstance(document, list):
        if name.isdigit() and int(name) < len(document):
            element = document[int(name)]
            yield from values_at(element, rest) if rest else (element,)
        for element in document:
            if isinstance(element, Mapping):
                yield from values_at(element, path)


def equalities(query: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields that an upsert takes over from its filter."""
    for name, condition in query.items():
        if name == "$and":
            for part in condition:
                yield from equalities(part)
        elif not name.startswith("$"):
            if not _is_operators(condition):
                yield name, condition
            elif "$eq" in condition:
                yield name, condition["$eq"]


def _holds(name: str, condition: Any, document: Mapping[str, Any]) -> bool:
    match name:
        case "$and":
            return all(is_match(part, document) for part in condition)
        case "$or":
            return any(is_match(part, document) for part in condition)
        case "$nor":
            return not any(is_match(part, document) for part in condition)
        case "$comment":
            return True
        case "$expr":
            return is_true(evaluated(condition, dict(document)))
        case _ if name.startswith("$"):
            raise CommandError(2, f"unknown top level operator: {name}")
    values = list(values_at(document, name))
    if _is_operators(condition):
        return all(
            _operator_holds(operator, operand, values, condition)
            for operator, operand in condition.items()
        )
    return _equals(values, condition)


def _is_operators(condition: Any) -> bool:
    return isinstance(condition, Mapping) and any(name.startswith("$") for name in condition)


def _operator_holds(
    operator: str, operand: Any, values: list[Any], condition: Mapping[str, Any]
) -> bool:
    match operator:
        case "$eq":
            return _equals(values, operand)
        case "$ne":
            return not _equals(values, operand)
        case "$in":
            return any(_equals(values, each) for each in operand)
        case "$nin":
            return not any(_equals(values, each) for each in operand)
        case "$exists":
            return bool(values) == bool(operand)
        case "$not":
            if isinstance(operand, Regex | re.Pattern):
                return not _equals(values, operand)
            return not all(
                _operator_holds(name, each, values, operand) for name, each in operand.items()
            )
        case "$regex":
            return _equals(values, _pattern(operand, condition.get("$options", "")))
        case "$options":
            return True
        case "$size":
            return any(isinstance(value, list) and len(value) == operand for value in values)
        case "$all":
            return all(_equals(values, each) for each in operand)
        case "$elemMatch":
            elements = [each for value in values if isinstance(value, list) for each in value]
            return any(isinstance(each, Mapping) and is_match(operand, each) for each in elements)
        case _ if operator in _COMPARISONS:
            return any(_compares(operator, value, operand) for value in _unwound(values))
    raise CommandError(2, f"unknown operator: {operator}")


def _unwound(values: list[Any]) -> Iterator[Any]:
    """Values, and the elements of those that are arrays."""
    for value in values:
        yield value
        if isinstance(value, list):
            yield from value


def _equals(values: list[Any], wanted: Any) -> bool:
    if isinstance(wanted, Regex):
        wanted = _pattern(wanted, "")
    if isinstance(wanted, re.Pattern):
        found = wanted
        return any(isinstance(value, str) and found.search(value) for value in _unwound(values))
    if wanted is None and not values:
        return True
    key = order(wanted)
    return any(order(value) == key for value in _unwound(values))


def _compares(operator: str, value: Any, operand: Any) -> bool:
    if type_order(value) != type_order(operand):
        return False
    if _is_nan(value) or _is_nan(operand):
        return operator in ("$gte", "$lte") and _is_nan(value) and _is_nan(operand)
    left, right = order(value), order(operand)
    match operator:
        case "$gt":
            return left > right
        case "$gte":
            return left >= right
        case "$lt":
            return left < right
        case _:
            return left <= right


def _is_nan(value: Any) -> bool:
    """NaN is compared with itself alone (`ComparisonMatchExpression`)."""
    if isinstance(value, Decimal128):
        return value.to_decimal().is_nan()
    return isinstance(value, float) and math.isnan(value)


def _pattern(pattern: Any, options: str) -> re.Pattern[str]:
    flags = 0
    if isinstance(pattern, Regex):
        flags = int(pattern.flags)
        pattern = pattern.pattern
    elif isinstance(pattern, re.Pattern):
        return pattern
    for letter, flag in zip("imsx", (re.I, re.M, re.S, re.X), strict=True):
        if letter in options:
            flags |= flag
    # The end of the text has another name in the server's expressions.
    pattern = re.sub(r"(?<!\\)((?:\\\\)*)\\z", r"\1\\Z", pattern)
    return re.compile(pattern, flags & ~re.LOCALE)
