"""Digests of typed rows, and which values are equal."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.compare.target_comparison import (
    bucket_digests,
    differences,
    later_expiries,
    typed_rows,
)
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


OTHERS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a value": ("v", (1, 0.25, *ROW[2:])),
    "no value": ("v", (1, None, *ROW[2:])),
    "a field": ("u", (1, 0.5, (None, "x"), *ROW[3:])),
    "no struct": ("u", (1, 0.5, None, *ROW[3:])),
    "an order": ("l", (*ROW[:3], [2, 1], ROW[4])),
    "an empty list": ("l", (*ROW[:3], [], ROW[4])),
    "a map": ("m", (*ROW[:4], {"a": [2], "b": [1]})),
    "no map": ("m", (*ROW[:4], None)),
}
"""Rows that differ from `ROW` in one column."""
BUCKETS = 1 << 20
"""Enough buckets that each row has its own."""


@pytest.fixture(scope="module")
def one(spark: SparkSession) -> Any:
    return digest(spark, ROW)


def test_typed_row_digest_ignores_map_order(spark: SparkSession, one: Any) -> None:
    frame, kind = one
    same, _ = digest(spark, (*ROW[:4], {"b": [2], "a": [1]}))
    assert bucket_digests(same, 1, kind) == bucket_digests(frame, 1, kind)
    assert differences(frame, same, kind, ["k"]).count() == 0


def test_different_typed_values_have_different_digests(spark: SparkSession) -> None:
    frame, kind = digest(spark, *[ROW] * len(OTHERS))
    others, _ = digest(spark, *(other for _, other in OTHERS.values()))
    known, found = (bucket_digests(rows, BUCKETS, kind) for rows in (frame, others))
    assert len(known) == len(OTHERS)
    assert known.keys() == found.keys()
    assert all(known[bucket] != found[bucket] for bucket in known)
    rows = differences(frame, others, kind, ["k"]).orderBy("cdc_row_id").collect()
    assert [(each["cause"], each["columns"], each["key"]) for each in rows] == [
        ("other_value", column, '{"k":1}') for column, _ in OTHERS.values()
    ]


def test_expired_typed_values_are_reported_by_read_time(spark: SparkSession, one: Any) -> None:
    shown = one[0].selectExpr("cdc_row_id", "row", "5L AS token", "100L AS next_expiry_s")
    found = [
        later_expiries(shown, second, read_from_us, ["k"])
        for second, read_from_us in ((99, 0), (100, 100_000_000), (100, 100_000_001))
    ]
    rows = found[0].union(found[1]).union(found[2]).collect()
    assert [(each["cause"], each["columns"]) for each in rows] == [
        ("expired", "expired at second 100"),
        ("not_there_yet", "expired at second 100"),
    ]
