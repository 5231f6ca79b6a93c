"""A follower applies the changes of a store: its targets have the rows that the algebra shows."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import JobError
from spark_jobs.follow import Follower, Position
from spark_jobs.follow.follower import IDLE_S
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import Batch, Offsets, VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from tests.support.spark.forms import EventValue, frame
from tests.support.spark.random_tables import COUNTERS, T, random_events, random_schema

BUCKETS = 2
SECONDS = (9, 10)
"""Seconds at which the follower runs, each after more events."""


class Target:
    """The rows of source tables in memory. Verifies that each change follows the one before."""

    def __init__(self, *, each: bool = False, has_snapshot: bool = True) -> None:
        self.each = each
        self.has_snapshot = has_snapshot
        self.positions: dict[str, Position] = {}
        self.rows: dict[str, dict[bytes, Any]] = {}
        self.calls: list[tuple[str, Position | None, Position, Offsets, int]] = []

    def interrupted(self, table: SourceTable) -> None:
        return None

    def finish(self, table: SourceTable, changes: DataFrame) -> None:
        raise AssertionError("no batch is interrupted")

    def position(self, table: SourceTable) -> Position | None:
        return self.positions.get(table.id)

    def apply(
        self,
        table: SourceTable,
        changes: DataFrame,
        before: Position | None,
        after: Position,
        offsets: Offsets,
    ) -> None:
        rows = self.rows.setdefault(table.id, {})
        # `collect` fails before Spark 4.1: a blob is a bytearray there, which is no key of a dict.
        found = sorted(changes.toArrow().to_pylist(), key=lambda row: row["seq"])
        for change in found:
            row_id = bytes(change["cdc_row_id"])
            assert rows.get(row_id) == change["before"], change
            if change["after"] is None:
                del rows[row_id]
            else:
                rows[row_id] = change["after"]
            expected = "d" if change["after"] is None else "u" if change["before"] else "c"
            assert change["op"] == expected
        self.positions[table.id] = after
        self.calls.append((table.id, before, after, offsets, len(found)))


class Source:
    """A store that is filled step by step, with a clock."""

    def __init__(self, spark: SparkSession, folder: Path, values: list[EventValue]) -> None:
        self.spark = spark
        self.folder = folder
        self.schema: SourceSchema = random_schema(folder)
        self.store = VersionStore(
            spark, str(folder / "store"), buckets=BUCKETS, max_uncompacted_files=1
        )
        self.tables = [self.schema.table(name) for name in ("shop.t", "shop.counters")]
        self.now_s = 0
        self._values = values
        self._count = 0

    def add(self, begin: int, end: int, step: int) -> None:
        tables = select_tables(self.schema, whole_counters=["shop.counters"])
        events = frame(
            self.spark, self.folder / f"events-{self._count}", self._values[begin:end:step]
        )
        batch = Batch("a", self._count, {"shop": {0: self._count}})
        reconcile(events, self.store, tables, batch)
        self._count += 1

    def follower(self, target: Target, name: str = "follower") -> Follower:
        folder = str(self.folder / name)
        return Follower(
            self.store, self.schema, self.tables, folder, target, clock=lambda: self.now_s
        )

    def expect(self, target: Target) -> None:
        """Verify that the target has the visible rows."""
        for table in self.tables:
            shown = table_at(self.store, self.schema, table, self.now_s).toArrow()
            followed = target.rows.get(table.id, {}).values()
            assert sorted(map(repr, followed)) == sorted(map(repr, shown.to_pylist()))


@pytest.mark.parametrize("each", [False, True])
def test_a_target_follows_events_expiry_compaction_and_truncation(
    spark: SparkSession, tmp_path: Path, each: bool
) -> None:
    values = random_events(60)
    random.Random(each).shuffle(values)
    source, target = Source(spark, tmp_path, values), Target(each=each)
    size = len(values)
    for number, now_s in enumerate(SECONDS):
        source.now_s = now_s
        source.add(number, size, len(SECONDS))
        if number == 1:
            assert compact(source.store, source.schema, now_s)
            source.store.truncate(T, 0)
        # A new follower each time, as after a restart.
        follower = source.follower(target)
        assert follower.step() == len(source.tables)
        source.expect(target)
        for table in source.tables if number == 0 else ():
            stats = follower.stats[table.full_name]
            assert (stats.batches, stats.updated, stats.deleted) == (1, 0, 0)
            assert stats.created == len(target.rows[table.id])
            assert stats.newest_write_us is not None
        assert target.calls[-1][3] == {"shop": {0: number}}
    # Nothing but time passes.
    source.now_s = 100
    follower = source.follower(target)
    assert follower.step() > 0
    source.expect(target)
    assert follower.step() == 0
    assert COUNTERS in target.rows
    # Since its start, this follower only saw values expire.
    assert {each.newest_write_us for each in follower.stats.values()} == {None}
    there = Position(source.store.version(), 100)
    assert {each.position for each in follower.stats.values()} == {there}


def test_a_target_follows_a_store_that_changes_other_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its position is stored once a minute; truncations are read only when there are new ones."""
    monkeypatch.delattr(VersionStore, "truncated_us")
    reads: list[int] = []
    truncated_tables = VersionStore.truncated_tables

    def counted(store: VersionStore, version: int) -> dict[str, int]:
        reads.append(version)
        return truncated_tables(store, version)

    monkeypatch.setattr(VersionStore, "truncated_tables", counted)
    source, target = Source(spark, tmp_path, random_events(10)), Target()
    source.now_s = start_s = 1000
    source.add(0, 100, 1)
    follower = source.follower(target)
    follower.step()
    count = len(target.calls)
    for _ in range(2):
        source.store.truncate("of no table", 1)
        assert follower.step() == 0
        assert len(target.calls) == count
    for _ in range(2):
        source.now_s += IDLE_S
        assert follower.step() == 0
    of_table = [call for call in target.calls[count:] if call[0] == T]
    position = Position(3, start_s + IDLE_S)
    assert of_table == [(T, Position(1, start_s), position, {"shop": {0: 0}}, 0)]
    assert target.positions[T] == position
    # A stored position is no batch.
    assert {stats.batches for stats in follower.stats.values()} == {1}
    assert reads == [1, 2, 3]


def test_a_first_fill_that_the_target_skips_is_no_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, target = Source(spark, tmp_path, random_events(10)), Target(has_snapshot=False)
    source.add(0, 10, 1)
    follower = source.follower(target)
    assert follower.step() == len(source.tables)
    assert {(stats.batches, stats.created) for stats in follower.stats.values()} == {(0, 0)}


def test_a_position_that_the_store_lacks_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    source, target = Source(spark, tmp_path, random_events(10)), Target()
    source.add(0, 10, 1)
    target.positions[T] = Position(7, 0)
    with pytest.raises(JobError, match="no log after version 7"):
        source.follower(target)
