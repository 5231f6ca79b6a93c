"""A comparison of all rows after a change of the schema."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from spark_jobs.changes import job as changes_job
from spark_jobs.changes.changes_tables import ChangesTable
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.follow import Position, changes_between
from spark_jobs.follow.comparison import compared
from spark_jobs.tables import job as tables_job
from spark_jobs.tables.format import delta
from spark_jobs.tables.options import TablesJobOptions
from tests.support.spark.changes import Change, changes_frame
from tests.support.spark.forms import filled_store
from tests.support.spark.options import options_of
from tests.support.spark.view_cases import CHANGED, EVENTS, NOW_S, TABLE, cell, row, schema

RENAMED = (
    TABLE.replace(", old text", ", day text")
    .replace("pk int, day text", "pk int, old text")
    .replace("(pk, day)", "(pk, old)")
    .replace("item", "number")
)
"""A key takes the name of a dropped column, and a new column takes the name of a key."""


def test_renamed_key_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
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


def test_maps_are_compared_by_entries(spark: SparkSession) -> None:
    def rows(value: int) -> DataFrame:
        row = {"id": 1, "seq": 2, "m": {b"a": value, b"b": 2}}
        return changes_frame(spark, [Change(None, row)], "id int, seq int, m map<binary, int>")

    assert compared(rows(1), rows(1), 2, NOW_S).isEmpty()
    # Before Spark 4.1 `collect` fails for map keys of type binary.
    (change,) = compared(rows(1), rows(3), 2, NOW_S).select("op", "after.id").collect()
    assert change == ("u", 1)


def test_signed_zeros_differ_and_nans_are_equal(spark: SparkSession) -> None:
    """This matches what a reader sees, also within a value."""
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


NUMBER = (1 << 40).to_bytes(8)
ROWS = [
    *EVENTS,
    # Rows that only the new column makes visible.
    row(10, [cell("fresh", NUMBER)]),
]


def settings(folder: Path, trigger: str = "available-now") -> dict[str, str]:
    return {
        "output": str(folder / "store"),
        "buckets": "1",
        "checkpoint": str(folder / "checkpoint"),
        "schema.file": str(folder / "schema.cql"),
        "state.partitions": "2",
        "trigger": trigger,
    }


@pytest.fixture
def start(spark: SparkSession, tmp_path: Path) -> Callable[..., int]:
    """Start a job with a schema and follow the store once. Returns the number of batches."""
    filled_store(spark, tmp_path, schema(tmp_path, TABLE), ROWS)

    def run(job: Any, model: Any, text: str, **options: str) -> int:
        schema(tmp_path, text)
        own = {name.replace("_", "."): value for name, value in options.items()}
        batches: int = job.run(spark, options_of(model, settings(tmp_path) | own), stop=Event())
        return batches

    return run


def by_item(rows: DataFrame) -> dict[int, Row]:
    return {each["item"]: each for each in rows.collect() if each["item"] is not None}


@pytest.mark.slow
def test_changes_of_a_comparison_are_published(
    start: Callable[..., int], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(text: str) -> int:
        path = f"{tmp_path}/changes/{{table}}"
        own = {"sink": "delta", "changes_table": path, "topic_prefix": "c1"}
        return start(changes_job, ChangesJobOptions, text, **own)

    assert publish(TABLE) == 1
    with monkeypatch.context() as patch:
        patch.setattr(ChangesTable, "write", None)
        with pytest.raises(TypeError):
            publish(CHANGED)
    # The schema changes again before the batch is finished.
    again = CHANGED.replace("ADD fresh", "ADD other int; ALTER TABLE shop.carts ADD fresh")
    assert publish(again) == 2
    rows = spark.read.format("delta").load(str(tmp_path / "changes" / "carts"))
    found = rows.where("op <> 'r'").selectExpr(
        "op", "after.fresh", "coalesce(after.item, before.item) AS item", "after.other"
    )
    assert {item: (each["op"], each["fresh"]) for item, each in by_item(found).items()} == {
        8: ("d", None),
        9: ("u", 1 << 40),
        10: ("c", 1 << 40),
    }


def test_new_rows_of_comparison_are_inserted(
    start: Callable[..., int], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(text: str) -> int:
        return start(tables_job, TablesJobOptions, text, target=str(tmp_path / "tables"))

    assert keep(TABLE) == 1
    with monkeypatch.context() as patch:
        patch.delattr(delta, "insert_statement")
        with pytest.raises(NameError):
            keep(CHANGED)
    assert keep(CHANGED) == 1
    rows = by_item(spark.read.format("delta").load(str(tmp_path / "tables" / "shop" / "carts")))
    assert {item: each["fresh"] for item, each in rows.items()} == {
        7: None,
        9: 1 << 40,
        10: 1 << 40,
    }
