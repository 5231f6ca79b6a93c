"""The typed view: keys, static columns, collections, and a changing source table."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema
from spark_jobs.reconcile.visible_rows import table_at
from tests.support.spark.forms import filled_store, named
from tests.support.spark.view_cases import ANEW, CHANGED, EVENTS, ID, NOW_S, TABLE, row, schema

"""Time UUIDs; the later one has the smaller bytes."""
KEY = {"pk": 1, "day": "a", "owner": "x"}
NOTHING = {"ckv": None, "l": None, "s": None, "m": None, "u": None, "f": None}
FULL = {"ckv": "v", "l": [1, 2], "s": [-1, 2], "m": {"k": 4}, "u": (None, "y"), "f": [5, 6]}


def test_view_follows_schema_of_source_table(spark: SparkSession, tmp_path: Path) -> None:
    before = schema(tmp_path, TABLE)
    store = filled_store(spark, tmp_path, before, EVENTS, buckets=2)

    def rows(described: SourceSchema) -> list[dict[str, Any]]:
        view = table_at(store, described, described.table("shop.carts"), NOW_S)
        found = sorted(view.collect(), key=lambda each: each["item"])
        return [{**each.asDict(), "u": each["u"] and tuple(each["u"])} for each in found]

    assert rows(before) == [
        KEY | FULL | {"item": 7, "old": None},
        KEY | NOTHING | {"item": 8, "old": "before"},
        KEY | NOTHING | {"item": 9, "old": "after"},
    ]
    # A row with only the dropped column is not visible.
    assert rows(schema(tmp_path, CHANGED)) == [
        KEY | FULL | {"item": 7, "fresh": None},
        KEY | NOTHING | {"item": 9, "fresh": 1 << 40},
    ]
    # Writes after the drop belong to the column that was added again.
    assert rows(schema(tmp_path, ANEW)) == [
        KEY | FULL | {"item": 7, "fresh": None, "old": None},
        KEY | NOTHING | {"item": 9, "fresh": 1 << 40, "old": "after"},
    ]


def test_recreated_table_starts_empty(spark: SparkSession, tmp_path: Path) -> None:
    again = "5a1c395e-b41f-11e9-9f22-ba0be0483c18"
    both = schema(tmp_path, TABLE + TABLE[TABLE.index("CREATE TABLE") :].replace(ID, again))
    values = [*EVENTS, named(again, row(9, [], live={"ts": 5}))]
    store = filled_store(spark, tmp_path, both, values, buckets=2)
    shown = table_at(store, both, both.table("shop.carts"), NOW_S).collect()
    assert [(each["item"], each["owner"]) for each in shown] == [(9, None)]
    # A job that selects by name skips events of the old table.
    assert [table.id for table in select_tables(both, ("shop.carts",)).tables] == [again]
