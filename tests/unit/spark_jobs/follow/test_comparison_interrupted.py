"""A job that ends in the middle of a comparison after a schema change, and starts again."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from spark_jobs.changes import job as changes_job
from spark_jobs.changes.changes_table import ChangesTable
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.tables import job as tables_job
from spark_jobs.tables.format import delta
from spark_jobs.tables.options import TablesJobOptions
from tests.support.spark.forms import filled_store
from tests.support.spark.options import options_of
from tests.support.spark.view_cases import CHANGED, EVENTS, TABLE, cell, row, schema

NUMBER = (1 << 40).to_bytes(8)
ROWS = [
    *EVENTS,
    # Visible only with the new column.
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
    """Starts a job with a schema; it follows the store once. Returns the number of batches."""
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
    start: Callable[..., int],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def publish(text: str) -> int:
        path = f"{tmp_path}/changes/{{table}}"
        own = {"sink": "delta", "changes_table": path, "topic_prefix": "c1"}
        return start(changes_job, ChangesJobOptions, text, **own)

    assert publish(TABLE) == 1
    with monkeypatch.context() as patch:
        patch.delattr(ChangesTable, "write")
        with pytest.raises(AttributeError):
            publish(CHANGED)
    # Another change, before the batch is finished.
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


def test_the_new_rows_of_a_comparison_are_inserted(
    start: Callable[..., int],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
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
