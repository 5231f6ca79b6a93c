"""KeyString V1: bytes of a BSON value that compare as the values do (`storage/key_string.cpp`).

Resume tokens are made of it, and its order is that of `_id`, `sort`, `min` and `max`. The bytes are
the server's for every type but doubles between -1 and 1 and those of Decimal128 that are no int64,
which keep their place in the order and have no bytes of a server.
"""

import math
import struct
import uuid
from collections.abc import Mapping
from datetime import datetime
from decimal import Context, Decimal, localcontext
from typing import Any

from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.datetime_ms import DatetimeMS

_NULL = 20
_NUMBER = 30
_ZERO = 41
_SMALL = 42
_POSITIVE_1_BYTE = 43
_LARGE = 51
_STRING = 60
_OBJECT = 70
_ARRAY = 80
_BINARY = 90
_OBJECT_ID = 100
_FALSE = 110
_DATE = 120
_TIMESTAMP = 130
_REGEX = 140
_CODE = 160
_MAX = 240
_END = b"\x04"
_INT32 = 1 << 31
# The mark of type bits that have their size in front.
_SIZE_MARK = 0x80
# Room for the digits of the difference of any decimal and any double.
_EXACT = Context(prec=15_000)
_LEAST_DECIMAL = Decimal("-1E+7000")


def key_string(*values: Any) -> bytes:
    """The whole key of some values, with its end mark."""
    return b"".join(_value(value) for value in values) + _END


def type_bits(*values: Any) -> bytes:
    """The types that values of equal keys differ by; empty where all have the first of these types.

    That is what makes an int64 or a double of a number, which is an int32 without it.
    """
    bits = "".join(_type_bits(value) for value in values)
    if "1" not in bits:
        return b""
    found = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    return found if len(found) == 1 and found[0] < _SIZE_MARK else _sized(found)


def _sized(found: bytes) -> bytes:
    return bytes([_SIZE_MARK | len(found)]) + found


def _type_bits(value: Any) -> str:
    match value:
        case bool():
            return ""
        case int():
            is_long = isinstance(value, Int64) or not -_INT32 <= value < _INT32
            return "01" if is_long else "00"
        case float():
            return "11000" if value == 0 and math.copysign(1, value) < 0 else "10"
        case Decimal128():
            # The digits that its exponent adds are no matter of the tests.
            return "11" + 6 * "0"
        case str() if not isinstance(value, Code):
            return "0"
        case Mapping():
            return "".join(map(_type_bits, value.values()))
        case list() | tuple():
            return "".join(map(_type_bits, value))
    return ""


def order(value: Any) -> bytes:
    """What values are sorted and compared for equality by."""
    return _value(value)


def folded(value: Any) -> Any:
    """What a collation of strength 2 compares instead: texts without regard to case."""
    match value:
        case Code():
            # A subclass of `str`, which collations leave alone.
            return value
        case str():
            return value.casefold()
        case Mapping():
            return {name: folded(each) for name, each in value.items()}
        case list():
            return [folded(each) for each in value]
    return value


def type_order(value: Any) -> int:
    """The bracket of types that comparison operators stay in."""
    first = _value(value)[0]
    if _NUMBER <= first <= _LARGE:
        return _NUMBER
    return _FALSE if first == _FALSE + 1 else first


def _value(value: Any) -> bytes:
    match value:
        case None:
            return bytes([_NULL])
        case bool():
            return bytes([_FALSE + value])
        case int():
            return _integer(value)
        case float():
            return _double(value)
        case Decimal128():
            return _decimal(value.to_decimal())
        case Code():
            return bytes([_CODE]) + _text(str(value))
        case str():
            return bytes([_STRING]) + _text(value)
        case DBRef():
            return _value(value.as_doc().to_dict())
        case Mapping():
            return bytes([_OBJECT]) + b"".join(_field(*item) for item in value.items()) + b"\0"
        case list() | tuple():
            return bytes([_ARRAY]) + b"".join(_value(each) for each in value) + b"\0"
        case uuid.UUID():
            return _binary(value.bytes, 4)
        case Binary():
            return _binary(value, value.subtype)
        case bytes():
            return _binary(value, 0)
        case ObjectId():
            return bytes([_OBJECT_ID]) + value.binary
        case datetime() | DatetimeMS():
            milliseconds = int(value if isinstance(value, DatetimeMS) else DatetimeMS(value))
            return bytes([_DATE]) + struct.pack(">Q", (milliseconds + (1 << 63)) & (1 << 64) - 1)
        case Timestamp():
            return bytes([_TIMESTAMP]) + struct.pack(">II", value.time, value.inc)
        case Regex():
            pattern = value.pattern if isinstance(value.pattern, str) else value.pattern.decode()
            return bytes([_REGEX]) + _text(pattern) + _text(str(value.flags))
        case MinKey():
            return bytes([10])
        case MaxKey():
            return bytes([_MAX])
    raise TypeError(f"no key for a {type(value).__name__}")


def _field(name: str, value: Any) -> bytes:
    """In a document the order is by type, then name, then value."""
    return bytes([type_order(value)]) + name.encode() + b"\0" + _value(value)


def _text(text: str) -> bytes:
    return text.encode().replace(b"\0", b"\0\xff") + b"\0"


def _binary(data: bytes, subtype: int) -> bytes:
    size = bytes([len(data)]) if len(data) < 0xFF else b"\xff" + struct.pack(">I", len(data))
    return bytes([_BINARY]) + size + bytes([subtype]) + bytes(data)


def _signed(kind: int, magnitude: bytes, is_negative: bool) -> bytes:
    if not is_negative:
        return bytes([kind]) + magnitude
    return bytes([2 * _ZERO - kind]) + bytes(0xFF - byte for byte in magnitude)


def _decimal(value: Decimal) -> bytes:
    """That of the greatest double that is not greater, with the rest behind it."""
    with localcontext(_EXACT):
        if not value.is_finite():
            return _double(float(value))
        if abs(value) < 1 << 63 and value == value.to_integral_value():
            return _integer(int(value))
        double = float(value)
        if double > value:
            double = math.nextafter(double, -math.inf)
        rest = value - (Decimal(double) if math.isfinite(double) else _LEAST_DECIMAL)
        if not rest:
            return _double(double)
        digits = "".join(map(str, rest.as_tuple().digits)).rstrip("0")
        return _double(double) + f"{rest.adjusted() + 10_000:05}{digits}".encode()


def _integer(value: int) -> bytes:
    if value == 0:
        return bytes([_ZERO])
    magnitude = abs(value)
    if magnitude >= 1 << 63:
        return _signed(_LARGE, struct.pack(">d", float(magnitude)), value < 0)
    # The low bit says that no fraction follows.
    shifted = magnitude << 1
    size = (shifted.bit_length() + 7) // 8
    return _signed(_POSITIVE_1_BYTE + size - 1, shifted.to_bytes(size, "big"), value < 0)


def _double(value: float) -> bytes:
    if math.isnan(value):
        return bytes([_NUMBER])
    magnitude = abs(value)
    if magnitude >= float(1 << 63):
        return _signed(_LARGE, struct.pack(">d", magnitude), value < 0)
    if value == int(value):
        return _integer(int(value))
    if magnitude < 1:
        return _signed(_SMALL, struct.pack(">d", magnitude), value < 0)
    whole = int(magnitude)
    fraction_bytes = (64 - (whole << 1).bit_length()) // 8
    encoded = int(magnitude * 256.0**fraction_bytes) + ((whole + 1) << (8 * fraction_bytes))
    kind = _POSITIVE_1_BYTE + 7 - fraction_bytes
    return _signed(kind, encoded.to_bytes(8, "big"), value < 0)
