"""Encodes message keys and values as JSON or Avro, as Kafka Connect's converters do.

`docs/reference/change-events.md` describes the schemas.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from sidecar.schema_registry.client import RegistryClient
from spark_jobs.changes.connect_schema import ConnectSchema, ValueForm, connect_value
from spark_jobs.changes.envelope import PublishedTable, avro_name, key_schema, value_schema
from spark_jobs.changes.kafka_sink import Encoding, ToBytes
from spark_jobs.changes.options import ChangeEventOptions
from spark_jobs.column_names import ColumnNameError

_AVRO_TYPES = {"int8": "int", "int16": "int", "int32": "int", "int64": "long"}
_CONNECT_TYPES = ("int8", "int16")
_MAP_ENTRY = {"connect.internal.type": "MapEntry"}
"""Marks the entries of a map whose keys are not strings."""
EncodingOf = Callable[[StructType], Encoding]


def json_bytes(column: Column, data_type: StructType, schema: ConnectSchema | None) -> Column:
    """Encode a struct as UTF-8 JSON. With `schema`, it is the `payload` next to that schema."""
    converted = connect_value(column, data_type, _JSON_FORM)
    text = F.to_json(converted, {"ignoreNullFields": "false"})
    if schema is not None:
        before = json.dumps({"schema": schema.as_json()}, separators=(",", ":"))[:-1]
        text = F.concat(F.lit(before + ',"payload":'), text, F.lit("}"))
    return text.cast("binary")


def _pairs(column: Column, data_type: MapType) -> Column:
    """Convert a map to an array of pairs `[key, value]`, as Connect's `JsonConverter` does."""
    key, value = data_type.keyType, data_type.valueType

    def pair(entry: Column) -> Column:
        return F.array(_variant(entry["key"], key), _variant(entry["value"], value))

    return F.transform(F.map_entries(column), pair)


def _variant(column: Column, data_type: DataType) -> Column:
    """Convert a value to a variant, because all elements of a Spark array have the same type."""
    value = connect_value(column, data_type, _JSON_FORM)
    if isinstance(data_type, StructType | ArrayType | MapType):
        return F.to_variant_object(value)
    return value.cast("variant")


_JSON_FORM = ValueForm(_pairs, str)


def avro_bytes(column: Column, data_type: StructType, schema: str, schema_id: int) -> Column:
    """Encode a struct as Avro, after a zero byte and the four-byte schema id.

    `schema` is the JSON of `avro_schema` for the same struct.
    """
    converted = connect_value(column, data_type, _AVRO_FORM)
    header = F.lit(b"\0" + schema_id.to_bytes(4))
    return F.concat(header, to_avro(converted, schema))


def avro_schema(schema: ConnectSchema) -> str:
    """Convert a Connect schema to Avro JSON. Raises `ColumnNameError` if field names collide."""
    return json.dumps(_Writer().of(schema, "Row"), separators=(",", ":"))


class _Writer:
    """Writes each named record once, and then refers to it by name."""

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
        # Field `b` of column `a` and column `a_b` would get the same name.
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
    """Convert a map to an array of `key`, `value` structs, as Confluent's `AvroConverter` does."""
    key, value = data_type.keyType, data_type.valueType
    return F.transform(
        F.map_entries(column),
        lambda entry: F.struct(
            connect_value(entry["key"], key, _AVRO_FORM).alias("key"),
            connect_value(entry["value"], value, _AVRO_FORM).alias("value"),
        ),
    )


_AVRO_FORM = ValueForm(_entries, _field_name)


def encoding_of(table: PublishedTable, options: ChangeEventOptions) -> EncodingOf:
    if options.converter == "avro":
        return AvroEncoding(table, options)
    return partial(_json_encoding, table, has_schemas=options.has_schemas)


def _json_encoding(table: PublishedTable, row: StructType, *, has_schemas: bool) -> Encoding:
    of_key, of_value = key_schema(row, table), value_schema(row, table)
    return Encoding(
        partial(json_bytes, schema=of_key if has_schemas else None),
        partial(json_bytes, schema=of_value if has_schemas else None),
    )


class AvroEncoding:
    """Encodes Avro with schemas from a registry, and registers each schema once."""

    def __init__(self, table: PublishedTable, options: ChangeEventOptions) -> None:
        """Raises `ConfigError` for an unusable key store or trust store."""
        self._table = table
        self._registries = {
            side: (RegistryClient(settings), settings.strategy)
            for side, settings in options.registries().items()
        }
        self._encodings: dict[str, Encoding] = {}

    def __call__(self, row: StructType) -> Encoding:
        """The encoding for a row type. Registers its schemas on first use.

        Raises `UnavailableError`, `AccessDeniedError` or `SchemaRejectedError`.
        """
        known = row.json()
        if known not in self._encodings:
            key, value = key_schema(row, self._table), value_schema(row, self._table)
            self._encodings[known] = Encoding(
                self._register("key", key), self._register("value", value)
            )
        return self._encodings[known]

    def _register(self, side: Literal["key", "value"], schema: ConnectSchema) -> ToBytes:
        client, strategy = self._registries[side]
        text = avro_schema(schema)
        assert schema.name is not None
        subject = strategy.subject(self._table.topic, side, schema.name)
        return partial(avro_bytes, schema=text, schema_id=client.schema_id(subject, text))
