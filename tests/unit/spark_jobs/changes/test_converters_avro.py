"""Changes as Avro, read by another implementation, for every Spark type of a typed column."""

import io
import json
from datetime import date
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from sidecar.errors import ConfigError
from spark_jobs.changes.converters import avro_bytes, avro_schema
from spark_jobs.changes.envelope import envelopes, key_schema, value_schema
from tests.support.spark.changes import NOW_US, ORDERS, POSITION, Change, changes_frame, struct_of

ROW = (
    "id int, seq int, tiny tinyint, small smallint, big bigint, f float, d double, flag boolean, "
    "text string, blob binary, day date, exact decimal(12,2), `odd-name` string, "
    "tags array<date>, by_name map<string, int>, "
    "by_number map<int, struct<`a-b`: date>>, user_type struct<x: int, y: struct<z: string>>"
)
ID = 0x0102_0304
SAMPLE = {
    "id": 7,
    "seq": 3,
    "tiny": -1,
    "small": -2,
    "big": 2**63 - 1,
    "f": 1.5,
    "d": float("inf"),
    "flag": True,
    "text": "é",
    "blob": b"\0\xff",
    "day": date(1970, 1, 3),
    "exact": None,
    "odd-name": "odd",
    "tags": [date(1970, 1, 2), None],
    "by_name": {"a": 1, "b": None},
    "by_number": {5: (date(1970, 1, 4),), 6: None},
    "user_type": (1, ("z",)),
}
READ = {
    **{name: value for name, value in SAMPLE.items() if name != "odd-name"},
    "odd_name": "odd",
    "day": 2,
    "tags": [1, None],
    "by_number": [{"key": 5, "value": {"a_b": 3}}, {"key": 6, "value": None}],
    "user_type": {"x": 1, "y": {"z": "z"}},
}


def read(schema: str, data: bytes) -> Any:
    assert data[:5] == b"\0" + ID.to_bytes(4)
    parsed = fastavro.parse_schema(json.loads(schema))
    return fastavro.schemaless_reader(io.BytesIO(data[5:]), parsed, None)


def test_avro_event_supports_every_type(spark: SparkSession) -> None:
    empty = dict.fromkeys(SAMPLE) | {"id": 7, "seq": 3}
    changes = changes_frame(spark, [Change(None, SAMPLE), Change(SAMPLE, empty, 1)], ROW)
    row = struct_of(changes, "after")
    schemas = {
        "key": avro_schema(key_schema(row, ORDERS)),
        "value": avro_schema(value_schema(row, ORDERS)),
    }
    found = envelopes(changes, ORDERS, POSITION, is_snapshot=False, now_us=NOW_US)
    types = {name: struct_of(found, name) for name in schemas}
    encoded = found.orderBy("seq").select(
        *(avro_bytes(F.col(name), types[name], schemas[name], ID).alias(name) for name in schemas)
    )
    created, updated = encoded.collect()
    assert read(schemas["key"], created.key) == {"id": 7, "seq": 3}
    insert, update = (read(schemas["value"], each.value) for each in (created, updated))
    assert (insert["before"], insert["after"]) == (None, READ)
    nothing = dict.fromkeys(READ) | {"id": 7, "seq": 3}
    assert (update["before"], update["after"]) == (READ, nothing)
    assert (update["op"], update["source"]["table"]) == ("u", "orders")
    assert update["transaction"] is None


def test_avro_schemas_use_names_of_connect(spark: SparkSession) -> None:
    row = struct_of(changes_frame(spark, [], ROW), "after")
    schema = json.loads(avro_schema(value_schema(row, ORDERS)))
    assert (schema["namespace"], schema["name"]) == ("c1.shop.orders", "Envelope")
    assert schema["connect.name"] == "c1.shop.orders.Envelope"
    before, after = schema["fields"][:2]
    assert after["type"] == ["null", "c1.shop.orders.Value"]
    fields = {field["name"]: field["type"] for field in before["type"][1]["fields"]}
    assert fields["tiny"] == ["null", {"type": "int", "connect.type": "int8"}]
    assert fields["day"] == [
        "null",
        {"type": "int", "connect.version": 1, "connect.name": "io.debezium.time.Date"},
    ]
    assert fields["by_number"][1]["items"]["connect.internal.type"] == "MapEntry"


def test_avro_records_of_different_types_have_different_names() -> None:
    inner, other = (StructType([StructField(name, IntegerType())]) for name in "xy")
    place = StructType([StructField("address", inner)])
    types = {"billing": place, "billing_address": other, "again": place}
    row = StructType([StructField(name, kind) for name, kind in types.items()])
    schema = json.loads(avro_schema(value_schema(row, ORDERS)))
    # The parser rejects a name with two definitions.
    fastavro.parse_schema(schema)
    fields = {field["name"]: field["type"][1] for field in schema["fields"][0]["type"][1]["fields"]}
    assert fields["billing"]["fields"][0]["type"][1]["name"] == "Value_billing_address"
    assert fields["billing_address"]["name"] == "Value_billing_address_"


def test_columns_with_equal_avro_names_are_an_error(spark: SparkSession) -> None:
    row = struct_of(changes_frame(spark, [], "`a-b` int, `a b` int"), "after")
    with pytest.raises(ConfigError, match=r"`a-b` and `a b` are both `a_b` in Avro"):
        avro_schema(value_schema(row, ORDERS))
