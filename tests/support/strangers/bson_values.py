"""BSON values of every type, by random bits up to the limits of each type."""

import struct
from typing import Any

import bson

from tests.support.strangers.chance import Chance

_SUBTYPES = (0, 1, 5, 128)
_DEPTH = 4
_NUL = "\0"


def identity(chance: Chance) -> Any:
    """An `_id`; servers take every type but arrays, expressions and undefined."""
    while True:
        found = value(chance, _DEPTH - 1)
        if not isinstance(found, (list, bson.Regex)) and not _has_dollar(found):
            return found


def fields(chance: Chance) -> dict[str, Any]:
    """The fields of a document without its `_id`."""
    names = (field_name(chance) for _ in range(chance.randrange(6)))
    return {name: value(chance) for name in names if name != "_id"}


def field_name(chance: Chance) -> str:
    """A name that is no operator and no path; an empty one is legal."""
    return chance.text(chance.randrange(8), forbidden=f"{_NUL}$.")


def value(chance: Chance, depth: int = 0) -> Any:
    """Of any type; the deeper, the more often a scalar."""
    if depth < _DEPTH and chance.flag(0.3 / (depth + 1)):
        if chance.flag(0.5):
            return [value(chance, depth + 1) for _ in range(chance.randrange(5))]
        return {field_name(chance): value(chance, depth + 1) for _ in range(chance.randrange(5))}
    return chance.choice(_SCALARS)(chance)


def payload(chance: Chance, size_bytes: int) -> Any:
    """A value that weighs about so many bytes: binary, or text of one random letter."""
    if chance.flag(0.5):
        return bson.Binary(chance.randbytes(size_bytes), 0)
    return (letter := chance.letter(_NUL)) * (size_bytes // len(letter.encode()))


def _has_dollar(found: Any) -> bool:
    members = found.items() if isinstance(found, dict) else ()
    return any(name.startswith("$") or _has_dollar(each) for name, each in members)


def _double(chance: Chance) -> float:
    """By random bits: infinities, the smallest ones and NaN among them."""
    if chance.flag(0.3):
        return float(chance.integer(64))
    exponent = chance.choice((0, (1 << 11) - 1, chance.getrandbits(11)))
    fraction = chance.choice((0, 1 << 51, chance.getrandbits(52)))
    bits = chance.getrandbits(1) << 63 | exponent << 52 | fraction
    if exponent == (1 << 11) - 1 and fraction:
        # Drivers keep neither the sign nor the payload of what is not a number.
        bits = exponent << 52 | 1 << 51
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _decimal(chance: Chance) -> bson.Decimal128:
    if chance.flag(0.2):
        return bson.Decimal128(str(chance.choice((-1, 1)) * float("inf")))
    digits = str(chance.getrandbits(chance.size(1, 112)))[:34]
    return bson.Decimal128(f"{chance.choice(('-', ''))}{digits}E{chance.integer(13)}")


_SCALARS = (
    lambda chance: None,
    lambda chance: chance.flag(0.5),
    lambda chance: chance.integer(32),
    lambda chance: bson.Int64(chance.integer(64)),
    _double,
    _decimal,
    lambda chance: chance.text(chance.randrange(24)),
    lambda chance: bson.Binary(chance.randbytes(chance.randrange(24)), chance.choice(_SUBTYPES)),
    lambda chance: bson.Binary(chance.randbytes(16), chance.choice((3, 4))),
    lambda chance: bson.ObjectId(chance.randbytes(12)),
    lambda chance: bson.DatetimeMS(chance.integer(64)),
    lambda chance: bson.Timestamp(chance.getrandbits(32), chance.getrandbits(32)),
    lambda chance: bson.Regex(chance.text(chance.randrange(8), _NUL), "im"[chance.randrange(3) :]),
    lambda chance: bson.Code(chance.text(chance.randrange(8))),
    lambda chance: bson.MinKey(),
    lambda chance: bson.MaxKey(),
)
