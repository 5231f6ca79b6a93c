"""A comparison of all rows after a change of the schema."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.follow import Position, changes_between
from spark_jobs.follow.comparison import compared
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.store import VersionStore
from tests.support.spark.changes import Change, changes_frame
from tests.support.spark.forms import frame
from tests.support.spark.view_cases import EVENTS, NOW_S, TABLE, schema

RENAMED = (
    TABLE.replace(", old text", ", day text")
    .replace("pk int, day text", "pk int, old text")
    .replace("(pk, day)", "(pk, old)")
    .replace("item", "number")
)
"""A key has the name of a dropped column, and a new column that of a key."""


def test_a_renamed_key_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    before = schema(tmp_path, TABLE)
    rows = [event for event in EVENTS if "old" not in str(event)]
    reconcile(frame(spark, tmp_path / "events", rows), store, select_tables(before))
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
