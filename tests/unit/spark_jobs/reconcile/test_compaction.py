"""Order, batches, repetitions, compaction and purge do not change what is visible."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.reconcile.compaction import compact, level_after, purge
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema
from spark_jobs.reconcile.store import Batch, VersionStore
from tests.support.spark.forms import EventValue, expected, frame, shown
from tests.support.spark.merge_examples import merged
from tests.support.spark.random_tables import COUNTERS, T, random_events, random_schema

BUCKETS = 2
BATCHES = 3
NOWS_S = (9, 11, 13)
HISTORY_S = 100


@dataclass(frozen=True)
class Filled:
    """A store with all events, from shuffled copies in several batches."""

    folder: Path
    schema: SourceSchema
    store: VersionStore
    compacted: int

    def copy(self, spark: SparkSession, folder: Path) -> VersionStore:
        """A copy of the store that a test may change."""
        shutil.copytree(self.folder, folder)
        return open_store(spark, folder)


def open_store(spark: SparkSession, folder: Path) -> VersionStore:
    return VersionStore(spark, str(folder), buckets=BUCKETS, max_uncompacted_files=1)


@pytest.fixture(scope="module")
def values() -> list[EventValue]:
    return random_events(200)


@pytest.fixture(scope="module")
def filled(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, values: list[EventValue]
) -> Filled:
    folder = tmp_path_factory.mktemp("compaction")
    schema = random_schema(folder)
    tables = select_tables(schema, whole_counters=["shop.counters"])
    thrice = values * 3
    random.Random(4).shuffle(thrice)
    store = open_store(spark, folder / "store")
    compacted = 0
    for number in range(BATCHES):
        events = frame(spark, folder / str(number), thrice[number::BATCHES])
        reconcile(events, store, tables, Batch("a", number))
        compacted += compact(store, schema, number, HISTORY_S)
    return Filled(folder / "store", schema, store, compacted)


def test_the_rows_are_those_of_the_algebra(values: list[EventValue], filled: Filled) -> None:
    assert filled.compacted
    tables = merged(values, {COUNTERS})
    for now_s in NOWS_S:
        assert shown(filled.store, filled.schema, now_s) == expected(tables, now_s)


def test_superseded_states_stay_for_a_time(
    spark: SparkSession, tmp_path: Path, filled: Filled
) -> None:
    store = filled.copy(spark, tmp_path / "store")
    levels = store.levels(T)
    assert levels.where("level = 'history' AND superseded_at_s < 3").count()
    reconcile(
        frame(spark, tmp_path / "more", random_events(20)),
        store,
        select_tables(filled.schema, whole_counters=["shop.counters"]),
    )
    store.max_uncompacted_files = 0
    later_s = BATCHES + HISTORY_S
    assert compact(store, filled.schema, later_s, HISTORY_S)
    kept = store.levels(T).where("level = 'history'").select("superseded_at_s").distinct()
    assert [row[0] for row in kept.collect()] == [later_s]


def test_a_few_events_are_merged_without_the_base(
    spark: SparkSession, tmp_path: Path, values: list[EventValue], filled: Filled
) -> None:
    store = filled.copy(spark, tmp_path / "store")
    store.max_uncompacted_files = 0
    tables = select_tables(filled.schema, whole_counters=["shop.counters"])
    late = random_events(320)[-12:]
    for number in range(0, len(late), 4):
        some = frame(spark, tmp_path / str(number), late[number : number + 4])
        reconcile(some, store, tables)
        compact(store, filled.schema, NOWS_S[0], HISTORY_S, major_share=100)
    assert set(levels_of(store)) == {"base", "history", "recent"}
    tables_after = merged(values + late, {COUNTERS})
    for now_s in NOWS_S:
        assert shown(store, filled.schema, now_s) == expected(tables_after, now_s)
    purge(store, filled.schema, filled.schema.table("shop.t"), 0)
    assert set(levels_of(store)) == {"base"}
    assert shown(store, filled.schema, 9) == expected(tables_after, 9)


@pytest.mark.parametrize(
    ("events", "recent", "base", "level"),
    [(5, 0, 0, "base"), (5, 7, 100, "recent"), (5, 8, 100, "base"), (0, 0, 9, "recent")],
)
def test_the_base_is_rewritten_when_an_eighth_is_new(
    events: int, recent: int, base: int, level: str
) -> None:
    rows = {"events": events, "recent": recent, "base": base, "history": 1_000}
    assert level_after(rows) == level


def levels_of(store: VersionStore) -> list[str]:
    found = store.levels(T).select("level").distinct().collect()
    return [row["level"] for row in found]


def test_a_purge_changes_no_visible_row(
    spark: SparkSession, tmp_path: Path, values: list[EventValue], filled: Filled
) -> None:
    before_s, now_s = 12, 13
    store = filled.copy(spark, tmp_path / "store")
    table = filled.schema.table("shop.t")
    before = store.rows(T).agg(F.sum(F.length("state"))).collect()
    purge(store, filled.schema, table, before_s)
    assert shown(store, filled.schema, now_s) == expected(merged(values, {COUNTERS}), now_s)
    purged = store.rows(T).agg(F.sum(F.length("state"))).collect()
    assert purged < before
    assert store.rows(T).where("event IS NOT NULL").isEmpty()
    # The first purge removed covered writes together with their deletions.
    purge(store, filled.schema, table, before_s)
    assert store.rows(T).agg(F.sum(F.length("state"))).collect() == purged
