"""Raw rows as the driver's values of `SELECT *`.

A non-frozen collection is built as Cassandra sends it (format notes §6.2: a count, then elements
with length prefixes) and decoded by the driver's own type. So one decoder reads both sides of a
comparison.
"""

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cassandra.cqltypes import ListType, MapType, SetType, UserType
from cassandra.util import Duration, SortedSet

from tests.oracle.algebra.table import Elements, Row, RowKey, Table

PROTOCOL_VERSION = 5


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its type, a class of `cassandra.cqltypes`."""

    name: str
    cql_type: Any


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table; `others` are regular and static ones."""

    partition_key: tuple[Column, ...]
    clustering: tuple[Column, ...]
    others: tuple[Column, ...]


def columns_of(table: Any, names: Sequence[str], types: Sequence[Any]) -> Columns:
    """Columns from the driver's metadata of a table, and the names and types of a result."""
    all_columns = {
        name: Column(name, cql_type) for name, cql_type in zip(names, types, strict=True)
    }
    partition_key = tuple(all_columns.pop(column.name) for column in table.partition_key)
    clustering = tuple(all_columns.pop(column.name) for column in table.clustering_key)
    return Columns(partition_key, clustering, tuple(all_columns.values()))


def typed_rows(table: Table, columns: Columns, now_s: int) -> list[dict[str, Any]]:
    """The rows at this second, in order, with every column by name."""
    return [
        _typed_row(key, table.clustering(key), row, columns)
        for key, row in table.rows(now_s).items()
    ]


def _typed_row(
    key: RowKey, clustering: Sequence[bytes | None], row: Row, columns: Columns
) -> dict[str, Any]:
    raw: dict[str, bytes | None] = {}
    for column, value in zip(
        columns.partition_key, _key_values(key[0], len(columns.partition_key)), strict=True
    ):
        raw[column.name] = value
    for column, position in zip(columns.clustering, range(len(columns.clustering)), strict=True):
        raw[column.name] = clustering[position] if clustering else None
    for column in columns.others:
        found = row.get(column.name)
        raw[column.name] = serialized(column.cql_type, found) if isinstance(found, tuple) else found
    types = (*columns.partition_key, *columns.clustering, *columns.others)
    return {
        column.name: column.cql_type.from_binary(raw[column.name], PROTOCOL_VERSION)
        for column in types
    }


def _key_values(key: bytes, count: int) -> list[bytes]:
    """The components of a partition key (`CompositeType`)."""
    if count == 1:
        return [key]
    values = []
    rest = key
    while rest:
        (length,) = struct.unpack_from(">H", rest)
        values.append(rest[2 : 2 + length])
        if rest[2 + length] != 0:
            raise ValueError(f"a partition key with an end other than 0: {key.hex()}")
        rest = rest[3 + length :]
    return values


def serialized(cql_type: Any, elements: Elements) -> bytes:
    """The elements of one column as one value, as the native protocol has it."""
    if issubclass(cql_type, UserType):
        fields = {struct.unpack(">H", path)[0]: value for path, value in elements}
        return b"".join(_sized(fields.get(index)) for index in range(len(cql_type.subtypes)))
    if issubclass(cql_type, ListType):
        in_order = sorted(elements, key=lambda element: time_uuid_order(element[0]))
        parts: Iterable[bytes] = (value for _, value in in_order)
    elif issubclass(cql_type, SetType):
        parts = (path for path, _ in elements)
    elif issubclass(cql_type, MapType):
        parts = (part for element in elements for part in element)
    else:
        raise ValueError(f"{cql_type} has no elements")
    return struct.pack(">i", len(elements)) + b"".join(map(_sized, parts))


def time_uuid_order(path: bytes) -> tuple[int, tuple[int, ...]]:
    """Sort key of time UUIDs (`TimeUUIDType#compareCustom`): the time, then signed bytes."""
    time_low, time_mid, time_high = struct.unpack(">IHH", path[:8])
    time = (time_high & 0x0FFF) << 48 | time_mid << 32 | time_low
    return time, struct.unpack(">8b", path[8:])


def _sized(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


def plain(value: Any) -> Any:
    """Hashable; NaN equals NaN, 0.0 differs from -0.0, 1.0 from 1.00; sets and maps unordered."""
    return _plain(value, is_clustering=False)


def plain_clustering(value: Any) -> Any:
    """Like `plain`, except that 1.0 equals 1.00: both are one row in Cassandra. Which of both
    Cassandra returns depends on flushes: `AtomicBTreePartition` keeps the first of a memtable,
    `Row.Merger` that of its last source."""
    return _plain(value, is_clustering=True)


def _plain(value: Any, *, is_clustering: bool) -> Any:
    def each(values: Iterable[Any]) -> Iterator[Any]:
        return (_plain(member, is_clustering=is_clustering) for member in values)

    match value:
        case float():
            return ("float", "nan" if math.isnan(value) else value.hex())
        case Decimal() if is_clustering:
            return ("decimal", value)
        case Decimal():
            return ("decimal", value.as_tuple())
        case Duration():
            return ("duration", value.months, value.days, value.nanoseconds)
        case SortedSet() | set() | frozenset():
            return ("set", frozenset(each(value)))
        case Mapping():
            return ("map", frozenset(tuple(each(item)) for item in value.items()))
        case list():
            return ("list", tuple(each(value)))
        case tuple():
            return ("tuple", tuple(each(value)))
        case _:
            return value
