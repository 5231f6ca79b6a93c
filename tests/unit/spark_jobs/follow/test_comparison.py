"""A comparison of all rows after a change of the schema."""

import math
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.follow import Position, changes_between
from spark_jobs.follow.comparison import compared
from tests.support.spark.changes import Change, changes_frame
from tests.support.spark.forms import filled_store
from tests.support.spark.view_cases import EVENTS, NOW_S, TABLE, schema

RENAMED = (
    TABLE.replace(", old text", ", day text")
    .replace("pk int, day text", "pk int, old text")
    .replace("(pk, day)", "(pk, old)")
    .replace("item", "number")
)
"""A key has the name of a dropped column, and a new column that of a key."""


def test_a_renamed_key_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    before = schema(tmp_path, TABLE)
    rows = [event for event in EVENTS if "old" not in str(event)]
    store = filled_store(spark, tmp_path, before, rows)
    after = schema(tmp_path, RENAMED)
    version = store.version()
    positions = (Position(version, NOW_S), Position(version, NOW_S + 1))
    changes = changes_between(
        *(store, after, after.tables[0], *positions), each=False, earlier_schema=before
    )
    assert changes.columns
    assert changes.collect() == []


def test_maps_are_compared_by_their_entries(spark: SparkSession) -> None:
    def rows(value: int) -> DataFrame:
        row = {"id": 1, "seq": 2, "m": {b"a": value, b"b": 2}}
        return changes_frame(spark, [Change(None, row)], "id int, seq int, m map<binary, int>")

    assert compared(rows(1), rows(1), 2, NOW_S).isEmpty()
    # Before Spark 4.1 `collect` fails for blobs as keys.
    (change,) = compared(rows(1), rows(3), 2, NOW_S).select("op", "after.id").collect()
    assert change == ("u", 1)


def test_zeros_have_a_sign_and_nans_are_alike(spark: SparkSession) -> None:
    """As a reader sees them, also within a value."""
    pairs = [(0.0, -0.0), (-0.0, 0.0), (math.nan, -math.nan), (0.0, 0.0), (-0.0, -0.0)]

    def rows(values: Iterable[float]) -> DataFrame:
        found = [
            Change(None, {"id": number, "seq": kind, "f": f, "d": d, "a": a, "m": m})
            for number, value in enumerate(values)
            for kind, (f, d, a, m) in enumerate(
                [
                    (value, 1.0, None, None),
                    (1.0, value, None, None),
                    (1.0, 1.0, [value], None),
                    (1.0, 1.0, None, {"a": value}),
                ]
            )
        ]
        kind = "id int, seq int, f float, d double, a array<float>, m map<string, double>"
        return changes_frame(spark, found, kind)

    before, after = zip(*pairs, strict=True)
    found = compared(rows(before), rows(after), 2, NOW_S).select("after.id", "after.seq")
    differing = {(number, kind) for number in (0, 1) for kind in range(4)}
    assert {tuple(row) for row in found.collect()} == differing
