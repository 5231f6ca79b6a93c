"""Kafka Connect schemas for typed rows, and Spark expressions that convert the values.

The types match those of Debezium's relational connectors:

    Spark                            Connect
    tinyint, smallint, int, bigint   int8, int16, int32, int64
    float, double, boolean           float, double, boolean
    string, binary                   string, bytes
    date                             int32, `io.debezium.time.Date`: days since 1970-01-01
    timestamp                        int64, `io.debezium.time.Timestamp`: milliseconds since 1970
    decimal(p,s)                     string, as with `decimal.handling.mode=string`
    array, map, struct               array, map, struct
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

_CONVERTED: Mapping[type[DataType], Callable[[Column], Column]] = {
    DateType: F.unix_date,
    TimestampType: F.unix_millis,
    DecimalType: lambda column: column.cast("string"),
}


@dataclass(frozen=True, slots=True)
class ConnectSchema:
    type: str
    name: str | None = None
    version: int | None = None
    is_optional: bool = True
    fields: tuple[tuple[str, "ConnectSchema"], ...] = ()
    """The fields of a struct, in order."""
    keys: "ConnectSchema | None" = None
    """The keys of a map."""
    items: "ConnectSchema | None" = None
    """Elements of an array, or values of a map."""

    def as_json(self, field: str | None = None) -> dict[str, Any]:
        """The schema as Connect's `JsonConverter` writes it; `field` is its name in a struct."""
        found: dict[str, Any] = {"type": self.type}
        if self.type == "struct":
            found["fields"] = [schema.as_json(name) for name, schema in self.fields]
        if self.type == "array":
            assert self.items is not None
            found["items"] = self.items.as_json()
        if self.keys is not None:
            assert self.items is not None
            found |= {"keys": self.keys.as_json(), "values": self.items.as_json()}
        found["optional"] = self.is_optional
        if self.name is not None:
            found["name"] = self.name
        if self.version is not None:
            found["version"] = self.version
        if field is not None:
            found["field"] = field
        return found

    @property
    def is_map_of_pairs(self) -> bool:
        """Whether JSON represents this map as an array of pairs: its keys are not strings."""
        return self.keys is not None and self.keys.type != "string"


_SIMPLE: Mapping[type[DataType], ConnectSchema] = {
    ByteType: ConnectSchema("int8"),
    ShortType: ConnectSchema("int16"),
    IntegerType: ConnectSchema("int32"),
    LongType: ConnectSchema("int64"),
    FloatType: ConnectSchema("float"),
    DoubleType: ConnectSchema("double"),
    BooleanType: ConnectSchema("boolean"),
    StringType: ConnectSchema("string"),
    BinaryType: ConnectSchema("bytes"),
    DateType: ConnectSchema("int32", "io.debezium.time.Date", 1),
    TimestampType: ConnectSchema("int64", "io.debezium.time.Timestamp", 1),
    DecimalType: ConnectSchema("string"),
}


@dataclass(frozen=True, slots=True)
class ValueForm:
    """The conversions that differ between JSON and Avro."""

    pairs: Callable[[Column, MapType], Column]
    """Converts a map whose keys are not strings."""
    field_name: Callable[[str], str]
    """Converts the name of a column or of a field."""


def connect_schema(data_type: DataType, name: str | None = None) -> ConnectSchema:
    """The schema of a column or row. `name` is the schema name of a struct."""
    match data_type:
        case StructType():
            fields = tuple((field.name, connect_schema(field.dataType)) for field in data_type)
            return ConnectSchema("struct", name, fields=fields)
        case ArrayType():
            return ConnectSchema("array", items=connect_schema(data_type.elementType))
        case MapType():
            keys, values = map(connect_schema, (data_type.keyType, data_type.valueType))
            return ConnectSchema("map", keys=keys, items=values)
    return _SIMPLE[type(data_type)]


def connect_value(column: Column, data_type: DataType, form: ValueForm) -> Column:
    """Convert a value to its Connect form. Returns the column itself if nothing changes."""
    if not _is_converted(data_type, form):
        return column
    match data_type:
        case StructType():
            fields = (
                connect_value(column.getField(field.name), field.dataType, form).alias(
                    form.field_name(field.name)
                )
                for field in data_type
            )
            return F.when(column.isNotNull(), F.struct(*fields))
        case ArrayType():
            element = data_type.elementType
            return F.transform(column, lambda each: connect_value(each, element, form))
        case MapType() if isinstance(data_type.keyType, StringType):
            values = data_type.valueType
            return F.transform_values(column, lambda _, each: connect_value(each, values, form))
        case MapType():
            return form.pairs(column, data_type)
    return _CONVERTED[type(data_type)](column)


def _is_converted(data_type: DataType, form: ValueForm) -> bool:
    """Whether `connect_value` changes any part of this type."""
    match data_type:
        case StructType():
            return any(
                form.field_name(field.name) != field.name or _is_converted(field.dataType, form)
                for field in data_type
            )
        case ArrayType():
            return _is_converted(data_type.elementType, form)
        case MapType():
            has_pairs = not isinstance(data_type.keyType, StringType)
            return has_pairs or _is_converted(data_type.valueType, form)
    return type(data_type) in _CONVERTED
