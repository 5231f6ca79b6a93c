"""Digests of typed rows: which values are equal."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.compare.target_rows import bucket_digests, differences, later_expiries, typed_rows
from spark_jobs.tables.columns import nullable

TYPES = "k int, v double, u struct<a: string, b: string>, l array<int>, m map<string, array<int>>"
ROW = (1, 0.5, ("x", None), [1, 2], {"a": [1], "b": [2]})


def digest(spark: SparkSession, *rows: tuple[Any, ...]) -> Any:
    table = spark.createDataFrame(
        [(bytearray([number]), *row) for number, row in enumerate(rows)],
        f"cdc_row_id binary, {TYPES}",
    )
    columns = nullable(table.schema)
    columns.pop("cdc_row_id")
    frame = typed_rows(table, columns)
    return frame, frame.schema["row"].dataType


OTHERS = {
    "a value": (1, 0.25, ("x", None), [1, 2], {"a": [1], "b": [2]}),
    "no value": (1, None, ("x", None), [1, 2], {"a": [1], "b": [2]}),
    "a field": (1, 0.5, (None, "x"), [1, 2], {"a": [1], "b": [2]}),
    "no struct": (1, 0.5, None, [1, 2], {"a": [1], "b": [2]}),
    "an order": (1, 0.5, ("x", None), [2, 1], {"a": [1], "b": [2]}),
    "an empty list": (1, 0.5, ("x", None), [], {"a": [1], "b": [2]}),
    "a map": (1, 0.5, ("x", None), [1, 2], {"a": [2], "b": [1]}),
    "no map": (1, 0.5, ("x", None), [1, 2], None),
}
COLUMNS = {
    "a value": "v",
    "no value": "v",
    "a field": "u",
    "no struct": "u",
    "an order": "l",
    "an empty list": "l",
    "a map": "m",
    "no map": "m",
}


@pytest.fixture(scope="module")
def one(spark: SparkSession) -> Any:
    return digest(spark, ROW)


def test_the_order_of_a_map_does_not_count(spark: SparkSession, one: Any) -> None:
    frame, kind = one
    same, _ = digest(spark, (*ROW[:4], {"b": [2], "a": [1]}))
    assert bucket_digests(same, 1, kind) == bucket_digests(frame, 1, kind)
    assert differences(frame, same, kind, ["k"]).count() == 0


def test_other_values_have_other_digests(spark: SparkSession, one: Any) -> None:
    frame, kind = one
    known = bucket_digests(frame, 1, kind)
    others, _ = digest(spark, *OTHERS.values())
    rows = [others.where(f"cdc_row_id = X'{number:02x}'") for number in range(len(OTHERS))]
    for name, other in zip(OTHERS, rows, strict=True):
        as_first = other.selectExpr("X'00' AS cdc_row_id", "row", "token", "next_expiry_s")
        assert bucket_digests(as_first, 1, kind) != known, name
        (found,) = differences(frame, as_first, kind, ["k"]).collect()
        assert (found["cause"], found["columns"]) == ("other_value", COLUMNS[name])
        assert found["key"] == '{"k":1}'


def test_expired_values(spark: SparkSession, one: Any) -> None:
    shown = one[0].selectExpr("cdc_row_id", "row", "5L AS token", "100L AS next_expiry_s")
    assert later_expiries(shown, 99, 0, ["k"]).count() == 0
    for read_from_us, cause in ((100_000_000, "expired"), (100_000_001, "not_there_yet")):
        (found,) = later_expiries(shown, 100, read_from_us, ["k"]).collect()
        assert (found["cause"], found["columns"]) == (cause, "expired at second 100")
