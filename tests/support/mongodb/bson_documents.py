"""Documents of every type that pymongo writes, and change events as a server sends them."""

from collections.abc import Mapping
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
from hypothesis import strategies as st

Json = dict[str, Any]

CODEC = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_MS)
_LARGEST_COEFFICIENT = 10**34 - 1
_U32 = st.integers(0, 2**32 - 1)
# A name with a dollar in front would be read as one of the types of extended JSON.
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).filter(
    lambda name: not name.startswith("$")
)
_TEXTS = st.text(max_size=20)
_PATTERNS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


def _decimal(coefficient: int, exponent: int) -> Decimal128:
    return Decimal128(f"{coefficient}E{exponent}")


DECIMALS = st.builds(
    _decimal,
    st.integers(-_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT) | st.integers(-99, 99),
    st.integers(-6176, 6111) | st.integers(-10, 5),
) | st.sampled_from(["NaN", "Infinity", "-Infinity", "-0", "-0.00"]).map(Decimal128)

PLAIN_LEAVES: st.SearchStrategy[object] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**31), 2**31 - 1)
    | st.integers(-(2**63), 2**63 - 1).map(Int64)
    | _TEXTS
    | st.builds(Binary, st.binary(max_size=20), st.sampled_from([0, 1, 2, 3, 5, 6, 128, 255]))
    | st.builds(Binary, st.binary(min_size=16, max_size=16), st.just(4))
    | st.binary(min_size=12, max_size=12).map(ObjectId)
    | (st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**42)).map(DatetimeMS)
    | st.builds(Regex, _PATTERNS, st.sampled_from(["", "i", "imsx"]))
    | st.builds(Timestamp, _U32, _U32)
    | st.builds(Code, _TEXTS)
    | DECIMALS
    | st.sampled_from([MinKey(), MaxKey()])
)
# Of these Java has printed the same digits in all releases.
SHORT_DOUBLES = st.integers(-(10**6), 10**6).map(lambda number: number / 100)
IDENTITIES: tuple[Any, ...] = (
    *(7, Int64(2**40), -1.5, 1e300, "text", "", None, True, MinKey(), MaxKey(), Timestamp(3, 4)),
    *(ObjectId(b"twelve bytes"), Decimal128("13.25"), Binary(b"\x00\xff", 4 + 124)),
    *(Binary(bytes(16), 4), DatetimeMS(1_700_000_000_123), DatetimeMS(-62_135_596_800_001)),
    *({"region": "eu", "n": Int64(5), "list": [1, {"x": "y"}]}, {}, False, Code("f()")),
)
"""`_id`s of the types that servers take."""


def documents(doubles: st.SearchStrategy[float]) -> st.SearchStrategy[Json]:
    leaves = PLAIN_LEAVES | doubles
    values = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(NAMES, inner, max_size=4)
            | st.builds(Code, _TEXTS, st.dictionaries(NAMES, inner, max_size=2))
        ),
        max_leaves=12,
    )
    return st.dictionaries(NAMES, values, max_size=6)


def encoded(document: Mapping[str, Any]) -> bytes:
    return bson.encode(document, codec_options=CODEC)


def event(operation: str, key: object = 7, **others: object) -> bytes:
    """An event of shop.cust. The token is one of no transaction."""
    return encoded(
        {
            "_id": {"_data": "8263D2A4F6000000022B022C0100296E5A1004"},
            "operationType": operation,
            "clusterTime": Timestamp(1674749174, 2),
            "wallTime": DatetimeMS(1674749174123),
            "ns": {"db": "shop", "coll": "cust"},
            "documentKey": {"_id": key},
            **others,
        }
    )


def nested_document(depth: int, *, is_array: bool) -> bytes:
    """As BSON, made from its end, as each level has its length."""
    kind = b"\x04" if is_array else b"\x03"
    levels = depth - 1
    sizes = [5 + 8 * level for level in range(levels + 1)]
    starts = b"".join(size.to_bytes(4, "little") + kind + b"a\0" for size in reversed(sizes[1:]))
    return starts + (5).to_bytes(4, "little") + bytes(levels + 1)
