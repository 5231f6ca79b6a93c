"""Converts raw values to CQL literals, which Cassandra reads as the same values.

Values without an exact literal become `blobAs…(0x…)`: empty values of types without an empty
literal, NaNs with unusual bits, and texts with control characters. So no literal contains a line
break."""

import datetime
import ipaddress
import math
import struct
import uuid
from collections.abc import Callable, Iterator

from spark_jobs.rebuild.table_layout import CqlType

_NULL = "null"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = 1 << 31
_READABLE_DAYS = range(-354_285, 2_932_897)
"""Days of the years 1000 to 9999."""
_DAY_MS = 86_400_000
_NS = 1_000_000_000
_LONGEST_SCALE = 50
_LONGEST_NUMBER_BYTES = 1_024
_LARGEST_INT, _LARGEST_LONG = (1 << 31) - 1, (1 << 63) - 1


def literal(of: CqlType, raw: bytes) -> str:
    """The literal of a value. Raises `ValueError` for a type without literals."""
    scalar = _SCALARS.get(of.name)
    if scalar is not None:
        has_empty = of.name in ("ascii", "text", "blob")
        readable = scalar(raw) if raw or has_empty else None
        return readable or f"blobAs{of.name.capitalize()}(0x{raw.hex()})"
    match of.name:
        case "list":
            return f"[{_joined(of, _lengths(raw, 4))}]"
        case "set":
            return f"{{{_joined(of, _lengths(raw, 4))}}}"
        case "map":
            pairs = (f"{literal(of.of[0], k)}: {literal(of.of[1], v)}" for k, v in _pairs(raw))
            return "{" + ", ".join(pairs) + "}"
        case "tuple":
            return f"({', '.join(map(_nullable, of.of, _fields(of, raw)))})"
        case "udt":
            named = zip(of.fields, map(_nullable, of.of, _fields(of, raw)), strict=True)
            return "{" + ", ".join(f"{quoted(name)}: {value}" for name, value in named) + "}"
        case "vector":
            return f"[{_joined(of, _vector(of, raw))}]"
    raise ValueError(f"CQL has no literals of the type {of.name}")


def quoted(name: str) -> str:
    """Quote the name of a table, column or field, which keeps its case."""
    return '"' + name.replace('"', '""') + '"'


def _joined(of: CqlType, elements: Iterator[bytes | None]) -> str:
    return ", ".join(_nullable(of.of[0], each) for each in elements)


def _nullable(of: CqlType, raw: bytes | None) -> str:
    return _NULL if raw is None else literal(of, raw)


def _pairs(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    values = _lengths(raw, 4)
    for key, value in zip(values, values, strict=True):
        if key is None or value is None:
            raise ValueError("a map with a null")
        yield key, value


def _fields(of: CqlType, raw: bytes) -> Iterator[bytes | None]:
    """Yield the fields of a tuple or user type. Missing trailing fields are null."""
    found = _lengths(raw, 0)
    for _ in of.of:
        yield next(found, None)


def _lengths(raw: bytes, at: int) -> Iterator[bytes | None]:
    """Yield values, each of which follows its length. A negative length means null."""
    while at < len(raw):
        (length,) = struct.unpack_from(">i", raw, at)
        at += 4
        if length < 0:
            yield None
        else:
            yield raw[at : at + length]
            at += length


def _vector(of: CqlType, raw: bytes) -> Iterator[bytes]:
    fixed = of.of[0].fixed_bytes()
    at = 0
    for _ in range(of.dimension):
        length, at = (fixed, at) if fixed is not None else _unsigned_vint(raw, at)
        yield raw[at : at + length]
        at += length


def _unsigned_vint(raw: bytes, at: int) -> tuple[int, int]:
    """Read a number (`VIntCoding`). Returns the number and the position after it."""
    first = raw[at]
    extra = 8 - (first ^ 0xFF).bit_length()
    number = first & (0xFF >> extra)
    for byte in raw[at + 1 : at + 1 + extra]:
        number = number << 8 | byte
    return number, at + 1 + extra


def _text(raw: bytes) -> str | None:
    text = raw.decode("utf-8")
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else None


def _integer(raw: bytes) -> str | None:
    if len(raw) > _LONGEST_NUMBER_BYTES:
        return None
    return str(int.from_bytes(raw, "big", signed=True))


def _decimal(raw: bytes) -> str | None:
    scale = struct.unpack_from(">i", raw)[0]
    digits = _integer(raw[4:])
    if digits is None:
        return None
    if not 0 <= scale <= _LONGEST_SCALE:
        return f"{digits}E{-scale:+}" if scale > -_LARGEST_INT else None
    sign = "-" if digits.startswith("-") else ""
    padded = digits.removeprefix("-").rjust(scale + 1, "0")
    whole, fraction = padded[: len(padded) - scale], padded[len(padded) - scale :]
    return f"{sign}{whole}.{fraction}" if scale else f"{sign}{whole}"


def _floating(form: str, nan: bytes, digits: str) -> Callable[[bytes], str | None]:
    def text(raw: bytes) -> str | None:
        (number,) = struct.unpack(form, raw)
        if math.isnan(number):
            return "NaN" if raw == nan else None
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        shown = format(number, digits)
        return shown if "." in shown or "e" in shown else f"{shown}.0"

    return text


def _date(raw: bytes) -> str | None:
    day = int.from_bytes(raw, "big") - _EPOCH_DAY
    if day not in _READABLE_DAYS:
        return f"'{day + _EPOCH_DAY}'"
    return f"'{(_EPOCH + datetime.timedelta(days=day)).date().isoformat()}'"


def _time(raw: bytes) -> str | None:
    seconds, nanoseconds = divmod(int.from_bytes(raw, "big"), _NS)
    minutes, second = divmod(seconds, 60)
    return f"'{minutes // 60:02}:{minutes % 60:02}:{second:02}.{nanoseconds:09}'"


def _timestamp(raw: bytes) -> str | None:
    time_ms = int.from_bytes(raw, "big", signed=True)
    if time_ms // _DAY_MS not in _READABLE_DAYS:
        return str(time_ms)
    moment = _EPOCH + datetime.timedelta(milliseconds=time_ms)
    return f"'{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z'"


def _inet(raw: bytes) -> str | None:
    address = ipaddress.ip_address(raw)
    # Java reads `::ffff:192.0.2.1` as four bytes.
    is_mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    return None if is_mapped else f"'{address}'"


def _duration(raw: bytes) -> str | None:
    at, parts = 0, []
    for _ in range(3):
        number, at = _unsigned_vint(raw, at)
        parts.append(number >> 1 ^ -(number & 1))
    sign = "-" if min(parts) < 0 else ""
    months, days, nanoseconds = map(abs, parts)
    if max(months, days) > _LARGEST_INT or nanoseconds > _LARGEST_LONG:
        return None
    return f"{sign}{months}mo{days}d{nanoseconds}ns"


def _uuid(raw: bytes) -> str | None:
    return str(uuid.UUID(bytes=raw))


_SCALARS: dict[str, Callable[[bytes], str | None]] = {
    "ascii": _text,
    "bigint": _integer,
    "blob": lambda raw: f"0x{raw.hex()}",
    "boolean": {b"\0": "false", b"\1": "true"}.get,
    "date": _date,
    "decimal": _decimal,
    # Enough digits to tell any two numbers apart.
    "double": _floating(">d", bytes.fromhex("7ff8000000000000"), ".17g"),
    "duration": _duration,
    "float": _floating(">f", bytes.fromhex("7fc00000"), ".9g"),
    "inet": _inet,
    "int": _integer,
    "smallint": _integer,
    "text": _text,
    "time": _time,
    "timestamp": _timestamp,
    "timeuuid": _uuid,
    "tinyint": _integer,
    "uuid": _uuid,
    "varint": _integer,
}
