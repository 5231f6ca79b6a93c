"""Keys and values as JSON, with or without their Connect schemas."""

import json

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from spark_jobs.changes.connect_schema import ConnectSchema, ValueForm, connect_value


def json_bytes(column: Column, data_type: StructType, schema: ConnectSchema | None) -> Column:
    """A struct as JSON in UTF-8. With `schema` it is the `payload` beside its schema."""
    converted = connect_value(column, data_type, _FORM)
    text = F.to_json(converted, {"ignoreNullFields": "false"})
    if schema is not None:
        before = json.dumps({"schema": schema.as_json()}, separators=(",", ":"))[:-1]
        text = F.concat(F.lit(before + ',"payload":'), text, F.lit("}"))
    return text.cast("binary")


def _pairs(column: Column, data_type: MapType) -> Column:
    """A map as an array of pairs `[key, value]`, as Connect's `JsonConverter` writes it."""
    key, value = data_type.keyType, data_type.valueType

    def pair(entry: Column) -> Column:
        return F.array(_variant(entry["key"], key), _variant(entry["value"], value))

    return F.transform(F.map_entries(column), pair)


def _variant(column: Column, data_type: DataType) -> Column:
    """A value of any type as a variant, because all elements of an array have one type."""
    value = connect_value(column, data_type, _FORM)
    if isinstance(data_type, StructType | ArrayType | MapType):
        return F.to_variant_object(value)
    return value.cast("variant")


_FORM = ValueForm(_pairs, str)
