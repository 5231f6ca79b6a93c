"""Replies whose structure no server would send: other types, limits, lost and repeated members."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import bson
from bson import (
    Binary,
    Code,
    CodecOptions,
    DatetimeMS,
    Decimal128,
    Int64,
    MaxKey,
    MinKey,
    ObjectId,
    Regex,
    Timestamp,
)
from bson.codec_options import DatetimeConversion
from bson.errors import InvalidBSON, InvalidDocument
from bson.son import SON

Place = tuple[str | int, ...]
"""The names and indexes that lead to a value."""

_CODEC: CodecOptions[Any] = CodecOptions(
    document_class=SON, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_MOST_TEXT_BYTES = 10 << 20
_DEEP = 150


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def _values(random: Random) -> Sequence[Callable[[], Any]]:
    return (
        lambda: None,
        lambda: random.choice([True, False]),
        lambda: random.choice([0, 1, -1, 2**31 - 1, -(2**31)]),
        lambda: Int64(random.choice([0, -1, 2**63 - 1, -(2**63), random.getrandbits(62)])),
        lambda: random.choice([0.0, -1.5, float("nan"), float("inf"), 1e300]),
        lambda: "".join(random.choices("09AFaf.$_\u0000é\U0001f600", k=random.randrange(40))),
        lambda: "8" * random.choice([2, 17, 18, 4096, _MOST_TEXT_BYTES]),
        lambda: random.randbytes(random.randrange(40)),
        lambda: Binary(random.randbytes(3), random.choice([0, 2, 4, 128, 255])),
        lambda: {},
        lambda: {"_data": random.choice(["", "82", "82" + "F" * 30, 5, None])},
        lambda: _nested(random.choice([2, _DEEP])),
        lambda: [],
        lambda: [random.choice([1, "x", {}, None])] * random.choice([1, 2, 5000]),
        lambda: Timestamp(random.choice([0, 1, 2**32 - 1]), random.choice([0, 2**32 - 1])),
        lambda: DatetimeMS(random.choice([0, -(2**63), 2**63 - 1])),
        lambda: random.choice(
            [MinKey(), MaxKey(), ObjectId(bytes(12)), Code("f"), Regex("a", "i")]
        ),
        lambda: Decimal128(random.choice(["NaN", "-0", "9E+6144"])),
    )


def places_of(value: Any, place: Place = ()) -> list[Place]:
    """The places of all values inside a document."""
    found: list[Place] = []
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    for name, each in inside:
        found.append((*place, name))
        found += places_of(each, (*place, name))
    return found


def _holder(document: Any, place: Place) -> Any:
    for name in place[:-1]:
        document = document[name]
    return document


def _mutate_once(document: Any, random: Random) -> str:
    """Change one place of the document; returns what was done."""
    places = places_of(document)
    if not places:
        return "nothing"
    place = random.choice(places)
    holder, name = _holder(document, place), place[-1]
    shown = ".".join(map(str, place))
    match random.choice(("replace", "replace", "replace", "remove", "rename", "repeat", "swap")):
        case "remove":
            del holder[name]
            return f"{shown} removed"
        case "rename" if isinstance(name, str):
            new_name = random.choice(["", "x", "_id", "cursor", "ok", f"{name}."])
            holder[new_name] = holder.pop(name)
            return f"{shown} named {new_name!r}"
        case "repeat" if isinstance(name, int):
            times = random.choice([1, 2, 100])
            holder[name:name] = [deepcopy(holder[name]) for _ in range(times)]
            return f"{shown} repeated {times} times"
        case "swap":
            other = random.choice(places)
            other_holder = _holder(document, other)
            if place != other[: len(place)] and other != place[: len(other)]:
                holder[name], other_holder[other[-1]] = other_holder[other[-1]], holder[name]
                return f"{shown} and {'.'.join(map(str, other))} swapped"
    value = random.choice(_values(random))()
    holder[name] = value
    return f"{shown} = {str(value)[:40]!r}"


def mutate(document: bytes, random: Random) -> tuple[bytes, str]:
    """A reply with one to three changes, and a description of them."""
    while True:
        reply = bson.decode(document, _CODEC)
        done = [_mutate_once(reply, random) for _ in range(random.choice((1, 1, 2, 3)))]
        try:
            return bson.encode(reply), "; ".join(done)
        except (InvalidDocument, InvalidBSON, OverflowError, ValueError):
            # BSON cannot write every name and value.
            continue
