"""The rows that determine changes: touched keys, due keys and new events."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import JobError, mapped_error
from spark_jobs.follow import Position, changes_between
from spark_jobs.follow.changes_between import rows_to_merge, touched_rows
from spark_jobs.follow.delta_tables import ExpiryIndex
from spark_jobs.follow.plan import ReadPlan
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.session_conf import session_conf
from tests.support.spark.forms import frame
from tests.support.spark.view_cases import EVENTS, NOW_S, TABLE, schema

BEFORE, AFTER = Position(1, 100), Position(2, 200)


def table(*, has_statics: bool = False) -> SourceTable:
    return SourceTable("t", "shop", "t", (), False, has_statics, frozenset(), {})


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> VersionStore:
    """Three partitions, each with three rows and a partition event, then new events."""
    store = VersionStore(spark, str(tmp_path_factory.mktemp("rows") / "store"), buckets=2)
    old = [(token, ck) for token in (1, 2, 3) for ck in (None, b"a", b"b", b"c")]
    append(store, "old", old)
    append(store, "new", [(1, b"a"), (1, b"a"), (2, None), (4, b"z")])
    return store


def append(store: VersionStore, name: str, keys: list[tuple[int, bytes | None]]) -> None:
    events = [("t", token, ck, f"{name} {token} {text(ck)}") for token, ck in keys]
    schema = "table STRING, token BIGINT, ck BINARY, event STRING"
    store.append(store.session.createDataFrame(events, schema))


def text(ck: bytes | None) -> str:
    return "-" if ck is None else ck.decode()


def events(rows: DataFrame, *, is_new: bool = False) -> list[str]:
    return sorted(row["event"] for row in rows.collect() if row["is_new"] is is_new)


def test_new_events_touch_their_rows_or_partitions(store: VersionStore) -> None:
    rows = rows_to_merge(ReadPlan("touched", has_new=True), store, table(), BEFORE, AFTER)
    assert events(rows) == ["old 1 -", "old 1 a", "old 2 -", "old 2 a", "old 2 b", "old 2 c"]
    assert events(rows, is_new=True) == ["new 1 a", "new 1 a", "new 2 -", "new 4 z"]


def test_static_columns_touch_whole_partitions(store: VersionStore) -> None:
    plan = ReadPlan("touched", has_new=True)
    rows = rows_to_merge(plan, store, table(has_statics=True), BEFORE, AFTER)
    assert [event for event in events(rows) if event.startswith("old 1")] == [
        "old 1 -",
        "old 1 a",
        "old 1 b",
        "old 1 c",
    ]


def test_expiring_values_touch_their_rows(
    spark: SparkSession, tmp_path: Path, store: VersionStore
) -> None:
    index = ExpiryIndex(spark, str(tmp_path))
    due: list[Any] = [(1, b"b", 150), (3, None, 200), (2, b"a", 201)]
    index.add("t", spark.createDataFrame(due, "token BIGINT, ck BINARY, next_expiry_s BIGINT"))
    plan = ReadPlan("touched", has_new=False)
    rows = rows_to_merge(plan, store, table(), BEFORE, AFTER, index)
    assert events(rows) == ["old 1 -", "old 1 b", "old 3 -", "old 3 a", "old 3 b", "old 3 c"]
    assert events(rows, is_new=True) == []


def test_first_fill_reads_only_new_rows(store: VersionStore) -> None:
    rows = rows_to_merge(ReadPlan("none", has_new=True), store, table(), None, BEFORE)
    assert events(rows) == []
    assert len(events(rows, is_new=True)) == 12


def test_full_plan_reads_whole_table(store: VersionStore) -> None:
    rows = rows_to_merge(ReadPlan("all", has_new=True), store, table(), BEFORE, AFTER)
    assert (len(events(rows)), len(events(rows, is_new=True))) == (12, 4)


def test_stored_rows_are_scanned_once_without_exchange(
    spark: SparkSession, tmp_path: Path, store: VersionStore
) -> None:
    """Spark exchanges only the keys, to deduplicate them; both joins broadcast the keys."""
    keys = spark.createDataFrame([(1, b"a")], "token BIGINT, ck BINARY")
    keys.write.parquet(str(tmp_path / "keys"))
    touched = spark.read.parquet(str(tmp_path / "keys"))
    rows = touched_rows(store.rows("t", 1), touched, whole_partitions=False)
    plan = rows.select("token", "event", "state")._jdf.queryExecution().executedPlan().toString()
    (scan,) = (line for line in plan.splitlines() if "FileScan" in line and "state" in line)
    assert "superseded_at_s" not in scan
    assert plan.count("BroadcastHashJoin") == 2
    assert "SortMergeJoin" not in plan
    exchanges = [line for line in plan.splitlines() if "Exchange hashpartitioning" in line]
    assert exchanges
    assert not any("state" in line for line in exchanges)


VACUUM_SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # The number of tasks that list files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def test_removed_files_error_suggests_refilling_target(spark: SparkSession, tmp_path: Path) -> None:
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1, max_uncompacted_files=1)
    described = schema(tmp_path, TABLE)
    (table,) = described.tables
    first = store.version() + 1
    for number, events in enumerate((EVENTS[:2], EVENTS[2:])):
        values = frame(spark, tmp_path / f"events-{number}", events)
        reconcile(values, store, select_tables(described))
    assert compact(store, described, NOW_S) == 1
    with session_conf(spark, VACUUM_SETTINGS):
        spark.sql(f"VACUUM delta.`{store.path}` RETAIN 0 HOURS")
    before, after = Position(first, NOW_S), Position(store.version(), NOW_S)
    with pytest.raises(Exception, match="FILE_NOT_EXIST") as raised:
        changes_between(store, described, table, before, after, each=True).collect()
    error = mapped_error(raised.value)
    assert isinstance(error, JobError), raised.value
    assert "refill its target" in str(error)
