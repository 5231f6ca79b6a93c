"""Random values of every BSON type that pymongo writes, and keys of every allowed type."""

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from bson import (
    Binary,
    Code,
    DatetimeMS,
    Decimal128,
    Int64,
    MaxKey,
    MinKey,
    ObjectId,
    Regex,
    Timestamp,
)

_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz ABC 0123456789 _-./:;<>&=+'",
    '"\\/\b\f\n\r\t\x01\x1f\x7f\x80\x9f',
    "äöüßéñçøåłžČ",
    "αβγδεжшщъאבגدرس",
    "東京都店舗日本語한국어ไทย",
    "😀👍🏽🇦🇹𝒳𐍈",
    "\u2028\u2029\ufeff\u200b\u00ad\u0301\ufffd\ue000\uffff\u0378",
)
_WHOLE_SECONDS = datetime(2020, 1, 1, tzinfo=UTC)
_SUBTYPES = (0, 1, 2, 3, 5, 6, 128, 255)


def text(random: Random, most: int = 12) -> str:
    alphabet = random.choice(_ALPHABETS[:1] * 3 + _ALPHABETS)
    return "".join(random.choice(alphabet) for _ in range(random.randint(0, most)))


def field_name(random: Random) -> str:
    """Name without a dot, which would be a path in an update, and without a leading dollar."""
    return text(random, 6).replace(".", "_").lstrip("$") or "f"


def leaf(random: Random) -> Any:
    return random.choice(LEAVES)(random)


def value(random: Random, depth: int = 3) -> Any:
    """A leaf, or an array or document of values."""
    shape = random.random() if depth else 1.0
    if shape < 0.12:
        return [value(random, depth - 1) for _ in range(random.randint(0, 4))]
    if shape < 0.24:
        return document(random, depth - 1)
    return leaf(random)


def document(random: Random, depth: int = 3) -> dict[str, Any]:
    return {field_name(random): value(random, depth) for _ in range(random.randint(0, 5))}


def key(random: Random) -> Any:
    """An `_id`; servers accept everything but arrays, regular expressions and `undefined`."""
    if random.random() < 0.15:
        return {field_name(random): leaf_of_key(random) for _ in range(random.randint(1, 3))}
    return leaf_of_key(random)


def leaf_of_key(random: Random) -> Any:
    while True:
        found = leaf(random)
        if not isinstance(found, Regex):
            return found


def _double(random: Random) -> float:
    kind = random.randrange(4)
    if kind == 0:
        return random.choice([0.0, -0.0, 1e7, 1e-3, 1e22, 5e-324, 1.7976931348623157e308])
    if kind == 1:
        return random.choice([float("nan"), float("inf"), float("-inf")])
    if kind == 2:
        return random.randint(-(10**6), 10**6) / 100
    (found,) = struct.unpack("<d", random.randbytes(8))
    # The bits of other NaNs make no difference in any text.
    return float(found) if found == found else float("nan")


def _decimal(random: Random) -> Decimal128:
    if random.random() < 0.2:
        return Decimal128(random.choice(["NaN", "Infinity", "-Infinity", "-0", "0E-10", "1E+6111"]))
    return Decimal128(f"{random.randint(-(10**34) + 1, 10**34 - 1)}E{random.randint(-300, 300)}")


def _date(random: Random) -> Any:
    if random.random() < 0.3:
        return DatetimeMS(random.choice([-1, 0, -(2**63), 2**63 - 1, 253402300800000]))
    return _WHOLE_SECONDS + timedelta(milliseconds=random.randint(-(10**12), 10**12))


LEAVES: tuple[Callable[[Random], Any], ...] = (
    lambda random: None,
    lambda random: random.random() < 0.5,
    lambda random: random.randint(-(2**31), 2**31 - 1),
    lambda random: random.randint(-9, 9),
    lambda random: Int64(random.randint(-(2**63), 2**63 - 1)),
    lambda random: Int64(random.randint(-9, 9)),
    _double,
    text,
    lambda random: ObjectId(random.randbytes(12)),
    lambda random: Binary(random.randbytes(random.randint(0, 20)), random.choice(_SUBTYPES)),
    lambda random: Binary(random.randbytes(16), random.choice((3, 4))),
    _date,
    lambda random: Timestamp(random.getrandbits(32), random.getrandbits(32)),
    lambda random: Regex(text(random).replace("\0", ""), random.choice(["", "i", "imsx"])),
    lambda random: Code(text(random)),
    lambda random: Code(text(random), {"x": random.randint(0, 9)}),
    _decimal,
    lambda random: MinKey(),
    lambda random: MaxKey(),
)
