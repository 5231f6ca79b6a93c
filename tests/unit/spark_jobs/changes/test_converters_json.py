"""Changes as JSON, for every Spark type of a typed column."""

import base64
import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.changes.converters import json_bytes
from spark_jobs.changes.envelope import envelopes, key_schema, value_schema
from tests.support.spark.changes import NOW_US, ORDERS, POSITION, Change, changes_frame, struct_of


def form(kind: str, name: str | None = None, **members: Any) -> dict[str, Any]:
    """The schema of a value; named schemas are Debezium's."""
    named = {"name": f"io.debezium.time.{name}", "version": 1} if name else {}
    return {"type": kind, "optional": True, **named, **members}


DAY, AT = form("int32", "Date"), form("int64", "Timestamp")
INT, TEXT, FLOAT = form("int32"), form("string"), form("double")
# Spark type, SQL value, JSON value, schema.
TYPES: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "id": ("int", "7", 7, INT),
    "seq": ("int", "3", 3, INT),
    "tiny": ("tinyint", "-1", -1, form("int8")),
    "small": ("smallint", "-2", -2, form("int16")),
    "big": ("bigint", "9223372036854775807", 2**63 - 1, form("int64")),
    "f": ("float", "1.1", 1.1, form("float")),
    "d": ("double", "double('NaN')", "NaN", FLOAT),
    "inf": ("double", "double('-Infinity')", "-Infinity", FLOAT),
    "flag": ("boolean", "true", True, form("boolean")),
    "text": ("string", "'a\"é'", 'a"é', TEXT),
    "blob": ("binary", "X'00ff'", base64.b64encode(b"\0\xff").decode(), form("bytes")),
    "day": ("date", "date'2024-02-29'", 19782, DAY),
    "at": ("timestamp", "timestamp'1969-12-31 23:59:59.999'", -1, AT),
    "exact": ("decimal(12,2)", "1.50", "1.50", TEXT),
    "nothing": ("string", "null", None, TEXT),
    "tags": ("array<date>", "array(date'1970-01-02', null)", [1, None], form("array", items=DAY)),
    "by_name": (
        "map<string, timestamp>",
        "map('a', timestamp'1970-01-01 00:00:01', 'b', null)",
        {"a": 1000, "b": None},
        form("map", keys=TEXT, values=AT),
    ),
    "by_number": (
        "map<int, struct<x: date, y: map<int, string>, n: int>>",
        "map(5, struct(date'1970-01-03', map(1, 'one'), null), 6, null)",
        [[5, {"x": 2, "y": [[1, "one"]], "n": None}], [6, None]],
        form(
            "map",
            keys=INT,
            values=form(
                "struct",
                fields=[
                    {**DAY, "field": "x"},
                    form("map", keys=INT, values=TEXT, field="y"),
                    {**INT, "field": "n"},
                ],
            ),
        ),
    ),
    "user_type": (
        "struct<at: timestamp, name: string>",
        "struct(timestamp'1970-01-01 00:00:02', null)",
        {"at": 2000, "name": None},
        form("struct", fields=[{**AT, "field": "at"}, {**TEXT, "field": "name"}]),
    ),
}
ROW = ", ".join(f"{name} {data_type}" for name, (data_type, *_) in TYPES.items())
FORMS = {name: value for name, (_, _, value, _) in TYPES.items()}


def event_of(spark: SparkSession, *, has_schema: bool) -> tuple[Any, Any]:
    """The key and the value of an update whose rows contain every type."""
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


def test_json_event_supports_every_type(spark: SparkSession) -> None:
    key, value = event_of(spark, has_schema=False)
    assert key == {"id": 7, "seq": 3}
    assert value["after"] == value["before"] == FORMS
    assert list(value["after"]) == list(TYPES)


def test_json_event_contains_schema_of_payload(spark: SparkSession) -> None:
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
