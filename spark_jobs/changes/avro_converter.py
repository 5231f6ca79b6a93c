"""Keys and values as Avro behind the id of their schema, as Confluent's `AvroConverter` writes
them.

`docs/reference/change-events.md` describes the schemas.
"""

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import MapType, StructType

from spark_jobs.changes.connect_schema import ConnectSchema, ValueForm, connect_value
from spark_jobs.changes.envelope import avro_name
from spark_jobs.column_names import ColumnNameError

_AVRO_TYPES = {"int8": "int", "int16": "int", "int32": "int", "int64": "long"}
_CONNECT_TYPES = ("int8", "int16")
_MAP_ENTRY = {"connect.internal.type": "MapEntry"}
"""Marks the entries of a map whose keys are no strings."""


def avro_bytes(column: Column, data_type: StructType, schema: str, schema_id: int) -> Column:
    """A struct as Avro after five bytes with the id of its schema.

    `schema` is the JSON of `avro_schema` for the same struct.
    """
    converted = connect_value(column, data_type, _FORM)
    header = F.lit(b"\0" + schema_id.to_bytes(4))
    return F.concat(header, to_avro(converted, schema))


def avro_schema(schema: ConnectSchema) -> str:
    """A Connect schema as Avro's JSON. Raises `ColumnNameError` if two fields get one name."""
    return json.dumps(_Writer().of(schema, "Row"), separators=(",", ":"))


class _Writer:
    """Writes each named record once; later ones are its name."""

    def __init__(self) -> None:
        self._written: dict[str, ConnectSchema] = {}

    def of(self, schema: ConnectSchema, place: str) -> Any:
        base = self._base(schema, place)
        return ["null", base] if schema.is_optional else base

    def _base(self, schema: ConnectSchema, place: str) -> Any:
        match schema.type:
            case "struct":
                return self._record(schema, place)
            case "array":
                assert schema.items is not None
                return {"type": "array", "items": self.of(schema.items, place)}
            case "map":
                return self._map(schema, place)
        found: dict[str, Any] = {"type": _AVRO_TYPES.get(schema.type, schema.type)}
        if schema.version is not None:
            found["connect.version"] = schema.version
        if schema.name is not None:
            found["connect.name"] = schema.name
        if schema.type in _CONNECT_TYPES:
            found["connect.type"] = schema.type
        return found if len(found) > 1 else found["type"]

    def _map(self, schema: ConnectSchema, place: str) -> dict[str, Any]:
        assert schema.keys is not None and schema.items is not None
        if not schema.is_map_of_pairs:
            return {"type": "map", "values": self.of(schema.items, place)}
        entry = ConnectSchema("struct", fields=(("key", schema.keys), ("value", schema.items)))
        record = self._record(entry, f"{place}_entry")
        return {"type": "array", "items": record | _MAP_ENTRY}

    def _record(self, schema: ConnectSchema, place: str) -> Any:
        full_name = schema.name or place
        # The field `b` of the column `a` has the place of the column `a_b`.
        while self._written.get(full_name, schema) != schema:
            full_name += "_"
        if full_name in self._written:
            return full_name
        self._written[full_name] = schema
        namespace, _, name = full_name.rpartition(".")
        found: dict[str, Any] = {"type": "record", "name": name}
        if namespace:
            found["namespace"] = namespace
        found["fields"] = list(self._fields(schema, full_name))
        if schema.version is not None:
            found["connect.version"] = schema.version
        if schema.name is not None:
            found["connect.name"] = schema.name
        return found

    def _fields(self, schema: ConnectSchema, record: str) -> Iterator[dict[str, Any]]:
        known: dict[str, str] = {}
        for name, of_field in schema.fields:
            adjusted = _field_name(name)
            if adjusted in known:
                raise ColumnNameError(
                    f"`{known[adjusted]}` and `{name}` are both `{adjusted}` in Avro. Use "
                    "`converter=json` for this table."
                )
            known[adjusted] = name
            field: dict[str, Any] = {
                "name": adjusted,
                "type": self.of(of_field, f"{record}_{adjusted}"),
            }
            if of_field.is_optional:
                field["default"] = None
            yield field


def _field_name(name: str) -> str:
    return avro_name(name.replace(".", "_"))


def _entries(column: Column, data_type: MapType) -> Column:
    """A map as an array of structs `key`, `value`, as Confluent's `AvroConverter` writes it."""
    key, value = data_type.keyType, data_type.valueType
    return F.transform(
        F.map_entries(column),
        lambda entry: F.struct(
            connect_value(entry["key"], key, _FORM).alias("key"),
            connect_value(entry["value"], value, _FORM).alias("value"),
        ),
    )


_FORM = ValueForm(_entries, _field_name)
