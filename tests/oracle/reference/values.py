"""What the bytes of a value mean (format notes §6.2 to §6.4)."""

from dataclasses import dataclass
from decimal import Decimal
from ipaddress import ip_address
from struct import unpack
from typing import Any
from uuid import UUID

from tests.oracle.reference.cql_types import (
    Collection,
    CqlType,
    Custom,
    Native,
    Tuple,
    UserType,
    Vector,
    fixed_length,
)
from tests.oracle.reference.cursor import Cursor
from tests.oracle.reference.errors import MalformedError

INTEGER_LENGTHS = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "time": 8, "timestamp": 8}
"""Integers of fixed size in bytes; time counts nanoseconds of the day, timestamp milliseconds."""

DATE_EPOCH = 1 << 31
"""The date 1970-01-01."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Three amounts of one sign."""

    months: int
    days: int
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Shard:
    """What one node has added to a counter, in total."""

    counter_id: UUID
    clock: int
    count: int


def read_value(cql_type: CqlType, data: bytes) -> Any:
    """The value of `data`, a Python value that keeps all of it. Raises MalformedError.

    date gives days since 1970, time nanoseconds, timestamp milliseconds, list, set, tuple and
    vector a tuple, map a tuple of pairs, a user type a dict of its fields, a counter its shards.
    No bytes at all give None for types whose values are never empty; they are legal nearly
    everywhere.
    """
    match cql_type:
        case Native(name):
            return _native(name, data)
        case Custom():
            return data
        case _ if not data and not isinstance(cql_type, Vector):
            return None
    cursor = Cursor(data)
    value = _nested(cql_type, cursor)
    if not cursor.at_end():
        raise MalformedError(cursor.offset, "bytes behind the value")
    return value


def read_key(types: tuple[CqlType, ...], key: bytes) -> tuple[Any, ...]:
    """The columns of a partition key (CompositeType; §6.3)."""
    if len(types) == 1:
        return (read_value(types[0], key),)
    cursor = Cursor(key)
    values = []
    for cql_type in types:
        values.append(read_value(cql_type, cursor.take(cursor.u16())))
        if cursor.u8() != 0:
            raise MalformedError(cursor.offset - 1, "end-of-component byte is not 0")
    if not cursor.at_end():
        raise MalformedError(cursor.offset, "bytes behind the partition key")
    return tuple(values)


def read_element(cql_type: Collection | UserType, path: bytes, value: bytes | None) -> Any:
    """Path and value of one cell of a complex column (§4.8.3); a tombstone has the value None."""
    match cql_type:
        case UserType(fields=fields):
            index = Cursor(path).u16()
            if len(path) != 2 or index >= len(fields):
                raise MalformedError(0, f"path {path.hex()} is not one of {len(fields)} fields")
            name, field_type = fields[index]
            return name, None if value is None else read_value(field_type, value)
        case Collection("set", _, element):
            if value:
                raise MalformedError(0, "element of a set with a value")
            return read_value(element, path), None
        case Collection(_, key, element):
            # The path in a list is a place: a time UUID that orders the elements.
            path_type = key or Native("timeuuid")
            return (
                read_value(path_type, path),
                None if value is None else read_value(element, value),
            )


def _native(name: str, data: bytes) -> Any:
    match name:
        case "ascii" | "text":
            return data.decode(name if name == "ascii" else "utf-8")
        case "blob":
            return data
        case _ if not data:
            return None
        case "boolean":
            return _exactly(1, data) != b"\0"
        case "tinyint" | "smallint" | "int" | "bigint" | "time" | "timestamp":
            return int.from_bytes(_exactly(INTEGER_LENGTHS[name], data), "big", signed=True)
        case "varint":
            return int.from_bytes(data, "big", signed=True)
        case "date":
            return int.from_bytes(_exactly(4, data), "big") - DATE_EPOCH
        case "float":
            return unpack(">f", _exactly(4, data))[0]
        case "double":
            return unpack(">d", _exactly(8, data))[0]
        case "uuid" | "timeuuid":
            return UUID(bytes=_exactly(16, data))
        case "inet":
            return ip_address(data)
        case "counter":
            return _counter(data)
    cursor = Cursor(data)
    value: Any
    if name == "decimal":
        scale = cursor.i32()
        digits = int.from_bytes(data[4:], "big", signed=True)
        return Decimal((digits < 0, tuple(map(int, str(abs(digits)))), -scale))
    if name == "duration":
        value = Duration(cursor.vint(), cursor.vint(), cursor.vint())
        if not cursor.at_end():
            raise MalformedError(cursor.offset, "bytes behind the duration")
        return value
    raise ValueError(f"no values of type {name} are known")


def _exactly(length: int, data: bytes) -> bytes:
    if len(data) != length:
        raise MalformedError(0, f"value of {len(data)} bytes instead of {length}")
    return data


def _nested(cql_type: CqlType, cursor: Cursor) -> Any:
    match cql_type:
        case Collection(_, None, element):
            return tuple(_sized(element, cursor) for _ in range(cursor.i32()))
        case Collection(_, key, element) if key is not None:
            pairs = range(cursor.i32())
            return tuple((_sized(key, cursor), _sized(element, cursor)) for _ in pairs)
        case Tuple(fields):
            return tuple(_field(field, cursor) for field in fields)
        case UserType(fields=named_fields):
            return {name: _field(field, cursor) for name, field in named_fields}
        case Vector(element, dimension):
            length = fixed_length(element)
            return tuple(
                read_value(element, cursor.vbytes() if length is None else cursor.take(length))
                for _ in range(dimension)
            )
    raise ValueError(f"{cql_type} has no elements")


def _sized(cql_type: CqlType, cursor: Cursor) -> Any:
    """A value behind its 32-bit length; a negative length is a null."""
    length = cursor.i32()
    return None if length < 0 else read_value(cql_type, cursor.take(length))


def _field(cql_type: CqlType, cursor: Cursor) -> Any:
    """A field of a tuple or user type: the value may be older than its last fields."""
    return None if cursor.at_end() else _sized(cql_type, cursor)


def _counter(data: bytes) -> tuple[Shard, ...]:
    """The shards of a counter context: a header that lists local and global ones, then the shards.

    Source: CounterContext; §6.4.
    """
    cursor = Cursor(data)
    cursor.take(2 * cursor.u16())
    shards = []
    while not cursor.at_end():
        counter_id = cursor.uuid()
        clock, count = unpack(">qq", cursor.take(16))
        shards.append(Shard(counter_id, clock, count))
    return tuple(shards)
