"""Changes as JSON, for every Spark type of a typed column."""

import base64
import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.changes.envelope import envelopes, key_schema, value_schema
from spark_jobs.changes.json_converter import json_bytes
from tests.support.spark.changes import (
    NOW_US,
    ORDERS,
    POSITION,
    Change,
    changes_frame,
    struct_of,
)

TYPES = {
    "id": ("int", "7", 7, {"type": "int32", "optional": True}),
    "seq": ("int", "3", 3, {"type": "int32", "optional": True}),
    "tiny": ("tinyint", "-1", -1, {"type": "int8", "optional": True}),
    "small": ("smallint", "-2", -2, {"type": "int16", "optional": True}),
    "big": ("bigint", "9223372036854775807", 2**63 - 1, {"type": "int64", "optional": True}),
    "f": ("float", "1.1", 1.1, {"type": "float", "optional": True}),
    "d": ("double", "double('NaN')", "NaN", {"type": "double", "optional": True}),
    "inf": ("double", "double('-Infinity')", "-Infinity", {"type": "double", "optional": True}),
    "flag": ("boolean", "true", True, {"type": "boolean", "optional": True}),
    "text": ("string", "'a\"é'", 'a"é', {"type": "string", "optional": True}),
    "blob": (
        "binary",
        "X'00ff'",
        base64.b64encode(b"\0\xff").decode(),
        {"type": "bytes", "optional": True},
    ),
    "day": (
        "date",
        "date'2024-02-29'",
        19782,
        {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1},
    ),
    "at": (
        "timestamp",
        "timestamp'1969-12-31 23:59:59.999'",
        -1,
        {"type": "int64", "optional": True, "name": "io.debezium.time.Timestamp", "version": 1},
    ),
    "exact": ("decimal(12,2)", "1.50", "1.50", {"type": "string", "optional": True}),
    "nothing": ("string", "null", None, {"type": "string", "optional": True}),
    "tags": (
        "array<date>",
        "array(date'1970-01-02', null)",
        [1, None],
        {
            "type": "array",
            "items": {
                "type": "int32",
                "optional": True,
                "name": "io.debezium.time.Date",
                "version": 1,
            },
            "optional": True,
        },
    ),
    "by_name": (
        "map<string, timestamp>",
        "map('a', timestamp'1970-01-01 00:00:01', 'b', null)",
        {"a": 1000, "b": None},
        {
            "type": "map",
            "keys": {"type": "string", "optional": True},
            "values": {
                "type": "int64",
                "optional": True,
                "name": "io.debezium.time.Timestamp",
                "version": 1,
            },
            "optional": True,
        },
    ),
    "by_number": (
        "map<int, struct<x: date, y: map<int, string>, n: int>>",
        "map(5, struct(date'1970-01-03', map(1, 'one'), null), 6, null)",
        [[5, {"x": 2, "y": [[1, "one"]], "n": None}], [6, None]],
        {
            "type": "map",
            "keys": {"type": "int32", "optional": True},
            "values": {
                "type": "struct",
                "fields": [
                    {
                        "type": "int32",
                        "optional": True,
                        "name": "io.debezium.time.Date",
                        "version": 1,
                        "field": "x",
                    },
                    {
                        "type": "map",
                        "keys": {"type": "int32", "optional": True},
                        "values": {"type": "string", "optional": True},
                        "optional": True,
                        "field": "y",
                    },
                    {"type": "int32", "optional": True, "field": "n"},
                ],
                "optional": True,
            },
            "optional": True,
        },
    ),
    "user_type": (
        "struct<at: timestamp, name: string>",
        "struct(timestamp'1970-01-01 00:00:02', null)",
        {"at": 2000, "name": None},
        {
            "type": "struct",
            "fields": [
                {
                    "type": "int64",
                    "optional": True,
                    "name": "io.debezium.time.Timestamp",
                    "version": 1,
                    "field": "at",
                },
                {"type": "string", "optional": True, "field": "name"},
            ],
            "optional": True,
        },
    ),
}
ROW = ", ".join(f"{name} {data_type}" for name, (data_type, *_) in TYPES.items())
FORMS = {name: form for name, (_, _, form, _) in TYPES.items()}


def event_of(spark: SparkSession, *, has_schema: bool) -> tuple[Any, Any]:
    """Key and value of an update whose rows have every type."""
    typed = spark.createDataFrame([()], "").select(
        F.struct(
            *(
                F.expr(f"cast({sql} as {data_type})").alias(name)
                for name, (data_type, sql, _, _) in TYPES.items()
            )
        ).alias("row")
    )
    rows = changes_frame(spark, [Change({"id": 7}, {"id": 7})], ROW)
    filled = rows.drop("after", "before").crossJoin(
        typed.select(F.col("row").alias("after"), F.col("row").alias("before"))
    )
    found = envelopes(filled, ORDERS, POSITION, is_snapshot=False, now_us=NOW_US)
    row = struct_of(filled, "after")
    schemas = (key_schema(row, ORDERS), value_schema(row, ORDERS)) if has_schema else (None, None)
    (bytes_of,) = found.select(
        *(
            json_bytes(F.col(name), struct_of(found, name), schema).alias(name)
            for name, schema in zip(("key", "value"), schemas, strict=True)
        )
    ).collect()
    return json.loads(bytes_of.key), json.loads(bytes_of.value)


def test_an_event_has_every_type(spark: SparkSession) -> None:
    key, value = event_of(spark, has_schema=False)
    assert key == {"id": 7, "seq": 3}
    assert value["after"] == value["before"] == FORMS
    assert list(value["after"]) == list(TYPES)


def test_an_event_has_the_schema_of_its_payload(spark: SparkSession) -> None:
    key, value = event_of(spark, has_schema=True)
    assert key["payload"] == {"id": 7, "seq": 3}
    assert key["schema"]["name"] == "c1.shop.orders.Key"
    assert value["payload"]["after"] == FORMS
    envelope = value["schema"]
    assert (envelope["name"], envelope["version"]) == ("c1.shop.orders.Envelope", 2)
    assert [field["field"] for field in envelope["fields"]] == list(value["payload"])
    before, after, source = envelope["fields"][:3]
    assert after["name"] == before["name"] == "c1.shop.orders.Value"
    expected = [{**schema, "field": name} for name, (_, _, _, schema) in TYPES.items()]
    assert after["fields"] == expected
    assert [field["field"] for field in source["fields"]] == list(value["payload"]["source"])
