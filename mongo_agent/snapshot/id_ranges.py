"""Expresses `_id` ranges as index bounds (`min`, `max`), or as conditions without them.

An index range without `max` ends before MaxKey, and a range that begins at MaxKey is an error. So
the document with that `_id` needs a separate condition. A condition compares only values of one
type bracket, so a range consists of one condition for each bracket, in the order of BSON types.
NaN precedes all numbers, but compares with none. JavaScript and the deprecated DBPointer and
undefined have no range.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import bson
from bson import Binary, MaxKey, MinKey, ObjectId, Timestamp
from bson.datetime_ms import DatetimeMS
from bson.raw_bson import RawBSONDocument

_TYPE = 4
"""Index of the type of the only element in `{_id: …}`."""
_VALUE = _TYPE + 1 + len(b"_id\0")
_DOUBLE, _DECIMAL = 0x01, 0x13
_DECIMAL_NAN = 0x7C
_MAX_KEY = 0x7F


@dataclass(frozen=True, slots=True)
class Bracket:
    """Values that compare with each other. `lowest` is the smallest value, and the only value if
    `is_single`. `types` are type numbers of the BSON specification."""

    types: frozenset[int]
    lowest: object
    is_single: bool = False


_NAN = Bracket(frozenset(), float("nan"), is_single=True)
BRACKETS = (
    Bracket(frozenset({0xFF}), MinKey(), is_single=True),
    Bracket(frozenset({0x0A}), None, is_single=True),
    _NAN,
    Bracket(frozenset({_DOUBLE, 0x10, 0x12, _DECIMAL}), float("-inf")),
    Bracket(frozenset({0x02, 0x0E}), ""),
    Bracket(frozenset({0x03}), {}),
    Bracket(frozenset({0x05}), Binary(b"")),
    Bracket(frozenset({0x07}), ObjectId(bytes(12))),
    Bracket(frozenset({0x08}), False),
    Bracket(frozenset({0x09}), DatetimeMS(-(2**63))),
    Bracket(frozenset({0x11}), Timestamp(0, 0)),
    Bracket(frozenset({_MAX_KEY}), MaxKey(), is_single=True),
)


def index_bounds(lower: bytes | None, upper: bytes | None) -> Iterator[dict[str, Any]]:
    """Yield `find` arguments from `lower` to before `upper`, raw `{_id: …}`; None is unbounded.

    https://www.mongodb.com/docs/manual/reference/method/cursor.max/
    """
    if lower is None and upper is None:
        yield {}
        return
    if lower is None or lower[_TYPE] != _MAX_KEY:
        bounds = {"min": {"_id": MinKey()} if lower is None else RawBSONDocument(lower)}
        if upper is not None and upper[_TYPE] != _MAX_KEY:
            bounds["max"] = RawBSONDocument(upper)
        yield bounds
    if upper is None:
        yield {"filter": {"_id": MaxKey()}}


def conditions(lower: bytes | None, upper: bytes | None) -> Iterator[Mapping[str, Any]]:
    """Yield `_id` conditions from `lower` to before `upper`, raw `{_id: …}`; None is unbounded.

    Raises ValueError for a bound of a type without a bracket.
    """
    first = 0 if lower is None else _bracket(lower)
    last = len(BRACKETS) - 1 if upper is None else _bracket(upper)
    for number in range(first, last + 1):
        bracket = BRACKETS[number]
        low = lower if number == first else None
        high = upper if number == last else None
        if not bracket.is_single:
            yield {"_id": _range(bracket, low, high)}
        elif high is None:
            yield {"_id": bracket.lowest}


def _bracket(bound: bytes) -> int:
    kind = bound[_TYPE]
    for number, bracket in enumerate(BRACKETS):
        if bracket is _NAN if _is_nan(bound) else kind in bracket.types:
            return number
    raise ValueError(f"`_id` values of BSON type {kind} have no range on this server")


def _is_nan(bound: bytes) -> bool:
    if bound[_TYPE] == _DOUBLE:
        (value,) = struct.unpack_from("<d", bound, _VALUE)
        return math.isnan(value)
    return bound[_TYPE] == _DECIMAL and bound[_VALUE + 15] & _DECIMAL_NAN == _DECIMAL_NAN


def _range(bracket: Bracket, low: bytes | None, high: bytes | None) -> RawBSONDocument:
    """Build the operators; the values of bounds are copied byte for byte."""
    elements = b""
    if low is not None:
        elements += _element(b"$gte", low)
    elif high is None:
        return RawBSONDocument(bson.encode({"$gte": bracket.lowest}))
    if high is not None:
        elements += _element(b"$lt", high)
    return RawBSONDocument(struct.pack("<i", len(elements) + 5) + elements + b"\0")


def _element(operator: bytes, bound: bytes) -> bytes:
    return bound[_TYPE : _TYPE + 1] + operator + b"\0" + bound[_VALUE:-1]
