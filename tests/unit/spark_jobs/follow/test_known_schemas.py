"""After a schema change the follower compares the whole table once."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.follow import Follower, Position, changes_between
from spark_jobs.follow.known_schemas import KnownSchemas
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema
from spark_jobs.storage import Folder
from tests.support.spark.forms import filled_store, frame
from tests.support.spark.recording_handler import RecordingHandler
from tests.support.spark.view_cases import CHANGED, EVENTS, NOW_S, TABLE, cell, number, row, schema


def test_dropped_column_removes_rows_and_values_once(spark: SparkSession, tmp_path: Path) -> None:
    before, target = schema(tmp_path, TABLE), RecordingHandler(each=True)
    store = filled_store(spark, tmp_path, before, EVENTS)

    def follower(described: SourceSchema) -> Follower:
        folder = str(tmp_path / "follower")
        return Follower(store, described, described.tables, folder, target, clock=lambda: NOW_S)

    follower(before).step()
    assert [change["op"] for change in target.changes[0]] == ["c"] * 3
    changed = schema(tmp_path, CHANGED)
    target.crashes = True
    with pytest.raises(KeyboardInterrupt):
        follower(changed).step()
    by_item = {(each["before"] or each["after"])["item"]: each for each in target.changes[1]}
    assert {item: change["op"] for item, change in by_item.items()} == {8: "d", 9: "u"}
    assert (by_item[9]["before"]["fresh"], by_item[9]["after"]["fresh"]) == (None, 1 << 40)
    assert all(change["existed"] and change["is_last"] for change in target.changes[1])
    # The target contains the comparison, although the follower crashed before recording it.
    assert follower(changed).step() == 0


def test_invisible_schema_change_is_ignored(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path / "follower"))
    before = schema(tmp_path, TABLE)
    (table,) = before.tables
    known = KnownSchemas(folder, before)
    assert known.earlier(table, Position(1, 1)) is None
    commented = schema(tmp_path, TABLE.replace(" AND cdc", " AND comment = 'x' AND cdc"))
    assert KnownSchemas(folder, commented).earlier(table, Position(1, 1)) is None
    changed = schema(tmp_path, CHANGED)
    (table,) = changed.tables
    for _ in range(2):
        earlier = KnownSchemas(folder, changed).earlier(table, Position(1, 1))
        assert earlier is not None and "old" in earlier.tables[0].columns
    KnownSchemas(folder, changed).followed(table)
    assert KnownSchemas(folder, changed).earlier(table, Position(1, 1)) is None


RENAMED = (
    TABLE.replace("item int", "place int")
    .replace("(pk, day), item", "(pk, day), place")
    .replace("item DESC", "place DESC")
    .replace("(x int, y text)", "(x int, note text, z int)")
)


def test_new_names_and_fields_change_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    before, after = schema(tmp_path, TABLE), schema(tmp_path, RENAMED)
    (table,), (renamed,) = before.tables, after.tables
    store = filled_store(spark, tmp_path, before, EVENTS)
    first = Position(store.version(), NOW_S)
    later = [
        row(7, [cell("u", number(6), path=b"\0\2", ts=6)]),
        row(8, [], **{"del": {"ts": 20, "ldt": 20}}),
    ]
    reconcile(frame(spark, tmp_path / "later", later), store, select_tables(after))
    second = Position(store.version(), NOW_S)
    changes = changes_between(
        store, after, renamed, first, second, each=False, earlier_schema=before
    ).where("op IS NOT NULL")
    by_place = {each["before"]["place"]: each for each in changes.collect()}
    assert {place: change["op"] for place, change in by_place.items()} == {7: "u", 8: "d"}
    user = {"x": None, "note": "y", "z": None}
    assert by_place[7]["before"]["u"].asDict() == user
    assert by_place[7]["after"]["u"].asDict() == user | {"z": 6}
    shown = changes_between(store, before, table, None, first, each=False).count()
    assert shown == 3
