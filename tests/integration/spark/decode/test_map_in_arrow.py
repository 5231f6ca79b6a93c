"""Typed batches in Spark: every type arrives as in `docs/reference/types.md`, section 6."""

import datetime
import struct
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from commitlog import Schema
from spark_jobs.arrow import Decoder
from tests.support.events.cql_values import counted, signed_vint, sized
from tests.support.node.snapshot_rows import integer

SCHEMA = Schema.from_cql(
    """
    CREATE TYPE ks.address (street text, numbers frozen<list<smallint>>);
    CREATE TABLE ks.t (
        k int PRIMARY KEY, price decimal, big varint, day date, at timestamp, clock time,
        d duration, ip inet, u uuid, flag boolean, f float, tags set<int>,
        m map<text, frozen<address>>,
        deep frozen<map<frozen<tuple<int, text>>, frozen<list<bigint>>>>,
        pairs frozen<map<frozen<map<int, int>>, int>>, v vector<float, 2>, home address
    ) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;
    """
)
TYPES = {
    "k": "int",
    "at": "timestamp",
    "big": "string",
    "clock": "bigint",
    "d": "struct<months:int,days:int,nanoseconds:bigint>",
    "day": "date",
    "deep": "map<struct<field1:int,field2:string>,array<bigint>>",
    "f": "float",
    "flag": "boolean",
    "home": "struct<street:string,numbers:array<smallint>>",
    "ip": "string",
    "m": "map<string,struct<street:string,numbers:array<smallint>>>",
    "pairs": "array<struct<key:map<int,int>,value:int>>",
    "price": "decimal(10,2)",
    "tags": "array<int>",
    "u": "string",
    "v": "array<float>",
}
ELEMENTS = "array<struct<path: binary, value: binary>>"
CELL_BY_CELL = ("tags", "m", "home")


def rows(spark: SparkSession, values: list[dict[str, Any]]) -> DataFrame:
    columns = [f"{name} {ELEMENTS if name in CELL_BY_CELL else 'binary'}" for name in TYPES]
    whole = [tuple(value.get(name) for name in TYPES) for value in values]
    return spark.createDataFrame(whole, ", ".join(columns))


def decoded(frame: DataFrame) -> DataFrame:
    decoder = Decoder(SCHEMA, "ks", "t", show={"price": "decimal(10,2)"})
    return frame.mapInArrow(decoder.decode_all, from_arrow_schema(decoder.schema))


ADDRESS = sized(b"High Street") + sized(counted(2, [b"\0\7", b"\xff\xff"]))
FULL = {
    "k": integer(1),
    "price": struct.pack(">i", 1) + b"\x7d",
    "big": b"\x01" + bytes(20),
    "day": struct.pack(">I", (1 << 31) + 19_782),
    "at": struct.pack(">q", 1_700_000_000_123),
    "clock": struct.pack(">q", 5),
    "d": signed_vint(1) + signed_vint(2) + signed_vint(3),
    "ip": b"\x7f\0\0\1",
    "u": bytes(16),
    "flag": b"\1",
    "f": struct.pack(">f", 1.5),
    "tags": [(integer(2), b""), (integer(-1), b"")],
    "m": [(b"b", ADDRESS), (b"a", sized(b"x"))],
    "deep": counted(1, [sized(integer(1)) + sized(b"x"), counted(1, [struct.pack(">q", 9)])]),
    "pairs": counted(1, [counted(1, [integer(1), integer(2)]), integer(3)]),
    "v": struct.pack(">2f", 1.0, -2.0),
    "home": [(b"\0\0", b"Low Street")],
}


def test_spark_receives_every_type(spark: SparkSession) -> None:
    typed = decoded(rows(spark, [FULL, {"k": integer(2)}]))
    assert {field.name: field.dataType.simpleString() for field in typed.schema} == TYPES
    full, empty = (row.asDict(recursive=True) for row in typed.orderBy("k").collect())
    assert empty == dict.fromkeys(TYPES) | {"k": 2}
    address = {"street": "High Street", "numbers": [7, -1]}
    # Spark returns a struct in a map key as a row.
    deep = {tuple(key): value for key, value in full.pop("deep").items()}
    assert deep == {(1, "x"): [9]}
    # Python receives the time in its local time zone.
    assert full.pop("at").timestamp() == 1_700_000_000.123
    assert full == {
        "k": 1,
        "price": Decimal("12.50"),
        "big": str(1 << 160),
        "day": datetime.date(2024, 2, 29),
        "clock": 5,
        "d": {"months": 1, "days": 2, "nanoseconds": 3},
        "ip": "127.0.0.1",
        "u": "00000000-0000-0000-0000-000000000000",
        "flag": True,
        "f": 1.5,
        "tags": [-1, 2],
        "m": {"a": {"street": "x", "numbers": None}, "b": address},
        "pairs": [{"key": {1: 2}, "value": 3}],
        "v": [1.0, -2.0],
        "home": {"street": "Low Street", "numbers": None},
    }


def test_spark_receives_days_beyond_python_dates(spark: SparkSession) -> None:
    days = [struct.pack(">I", day) for day in (0, (1 << 31) - 1, 2**32 - 1)]
    typed = decoded(rows(spark, [{"k": integer(at), "day": day} for at, day in enumerate(days)]))
    shown = typed.orderBy("day").select(F.unix_date("day")).collect()
    assert [number for (number,) in shown] == [-(2**31), -1, 2**31 - 1]


def test_invalid_value_is_an_error_with_its_place(spark: SparkSession) -> None:
    typed = decoded(rows(spark, [{"k": integer(1), "day": b"\0"}]))
    with pytest.raises(PythonException, match=r"ks\.t, column day, row 0 .*1 bytes; expected 4"):
        typed.collect()
