"""The columns of a table and their types, for statements."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import commitlog
from sidecar.errors import ConfigError

_PACKAGE = "org.apache.cassandra.db.marshal."
_NAMES = {
    "AsciiType": "ascii",
    "BooleanType": "boolean",
    "ByteType": "tinyint",
    "BytesType": "blob",
    "DecimalType": "decimal",
    "DoubleType": "double",
    "DurationType": "duration",
    "FloatType": "float",
    "InetAddressType": "inet",
    "Int32Type": "int",
    "IntegerType": "varint",
    "LongType": "bigint",
    "ShortType": "smallint",
    "SimpleDateType": "date",
    "TimeType": "time",
    "TimeUUIDType": "timeuuid",
    "TimestampType": "timestamp",
    "DateType": "timestamp",
    "UTF8Type": "text",
    "UUIDType": "uuid",
    "ListType": "list",
    "SetType": "set",
    "MapType": "map",
    "TupleType": "tuple",
    "UserType": "udt",
    "VectorType": "vector",
}
_WRAPPERS = ("FrozenType", "ReversedType")
_FIXED_BYTES = {
    "boolean": 1,
    "int": 4,
    "float": 4,
    "bigint": 8,
    "double": 8,
    "timestamp": 8,
    "uuid": 16,
    "timeuuid": 16,
}


@dataclass(frozen=True, slots=True)
class CqlType:
    """A type. `name` is its CQL name, `udt` for user types, or the class of an unknown type."""

    name: str
    of: tuple["CqlType", ...] = ()
    """Types of elements, of a map's key and value, or of the fields of a tuple or user type."""
    fields: tuple[str, ...] = ()
    dimension: int = 0
    is_multi_cell: bool = False
    """Whether each element is a separate cell."""

    @property
    def is_known(self) -> bool:
        """Whether CQL has a name for the type, so that it has literals."""
        return self.name in _NAMES.values()

    def fixed_bytes(self) -> int | None:
        """The length of values if it is fixed, so that vectors omit it
        (`AbstractType#valueLengthIfFixed`)."""
        if self.name == "vector":
            of_element = self.of[0].fixed_bytes()
            return None if of_element is None else of_element * self.dimension
        return _FIXED_BYTES.get(self.name)


def parse_class(text: str) -> CqlType:
    """Parse the class of a type, such as `org.apache.cassandra.db.marshal.ListType(…Int32Type)`."""
    name, *rest = _split(text)
    name = name.removeprefix(_PACKAGE)
    if name in _WRAPPERS:
        inner = parse_class(rest[0])
        if name == "ReversedType":
            return inner
        return CqlType(inner.name, inner.of, inner.fields, inner.dimension)
    known = _NAMES.get(name)
    if known is None:
        return CqlType(text)
    if known == "vector":
        return CqlType(known, (parse_class(rest[0]),), dimension=int(rest[1]))
    if known == "udt":
        named = [field.split(":", 1) for field in rest[2:]]
        return CqlType(
            known,
            tuple(parse_class(each) for _, each in named),
            tuple(bytes.fromhex(field).decode("utf-8") for field, _ in named),
            is_multi_cell=True,
        )
    multi_cell = known in ("list", "set", "map")
    return CqlType(known, tuple(map(parse_class, rest)), is_multi_cell=multi_cell)


def _split(text: str) -> Iterator[str]:
    """Yield the name of a class, and then its parameters."""
    name, bracket, rest = text.partition("(")
    yield name.strip()
    if not bracket:
        return
    depth, start = 0, 0
    inner = rest[: rest.rindex(")")]
    for place, character in enumerate(inner):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield inner[start:place].strip()
            start = place + 1
    yield inner[start:].strip()


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The current columns of a table by kind, in schema order."""

    keyspace: str
    name: str
    partition_key: Mapping[str, CqlType]
    clustering: Mapping[str, CqlType]
    static: Mapping[str, CqlType]
    regular: Mapping[str, CqlType]

    def column(self, name: str) -> CqlType:
        """The type of a static or regular column."""
        return self.regular[name] if name in self.regular else self.static[name]


def read_layout(schema: commitlog.Schema, table_id: str) -> TableLayout:
    """The layout of a table. Its types may have no CQL name."""
    stored = _stored(schema, table_id)
    return TableLayout(
        stored["keyspace"],
        stored["name"],
        *(_types(stored[kind]) for kind in ("partition_key", "clustering", "static", "regular")),
    )


def table_layout(schema: commitlog.Schema, table_id: str) -> TableLayout:
    """The layout of a table. Raises `ConfigError` for a table that statements cannot write."""
    layout = read_layout(schema, table_id)
    full_name = f"{layout.keyspace}.{layout.name}"
    if _stored(schema, table_id)["counter"]:
        raise ConfigError(
            f"format=cql: {full_name} is a counter table, and CQL cannot set a counter to a value "
            "or set its write time. Choose `format=parquet`, `delta` or `iceberg`."
        )
    for columns in (layout.partition_key, layout.clustering, layout.static, layout.regular):
        for name, of in columns.items():
            if unknown := _without_literals(of):
                raise ConfigError(
                    f"format=cql: {full_name}: the column {name} has the type {unknown}, for which "
                    "CQL has no literals. Choose `format=parquet`, `delta` or `iceberg`."
                )
    return layout


def _stored(schema: commitlog.Schema, table_id: str) -> dict[str, Any]:
    tables: list[dict[str, Any]] = json.loads(schema.to_stored())["tables"]
    (stored,) = (table for table in tables if table["id"] == table_id)
    return stored


def _types(columns: list[dict[str, Any]]) -> dict[str, CqlType]:
    return {
        column["name"]: parse_class(column["class"])
        for column in columns
        if column["dropped_at_us"] is None
    }


def _without_literals(of: CqlType) -> str | None:
    if not of.is_known:
        return of.name
    return next((found for each in of.of if (found := _without_literals(each))), None)
