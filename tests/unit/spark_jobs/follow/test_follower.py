"""A follower applies the changes of a store: its targets contain the merge's visible rows.

`tests/unit/spark_jobs/merge/test_changes.py` proves the algebra of changes without Spark.
"""

import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.column_names import ColumnNameError
from spark_jobs.errors import InputError, JobError
from spark_jobs.follow import Follower, Position
from spark_jobs.follow.follower import IDLE_S
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable, read_schema
from spark_jobs.reconcile.store import Batch, VersionStore
from spark_jobs.reconcile.visible_rows import merger_of
from tests.support.events.merge_batches import input_batches, items
from tests.support.spark.forms import EventValue, frame
from tests.support.spark.random_tables import random_events, random_schema
from tests.support.spark.recording_handler import RecordingHandler

TABLE, COUNTERS = "shop.t", "shop.counters"


class Source:
    """A store that is filled step by step, with a clock, and a target that follows one table."""

    def __init__(
        self, spark: SparkSession, folder: Path, name: str = TABLE, *, events: int = 10
    ) -> None:
        self.spark = spark
        self.folder = folder
        self.schema: SourceSchema = random_schema(folder)
        self.store = VersionStore(spark, str(folder / "store"), buckets=2, max_uncompacted_files=1)
        self.table = self.schema.table(name)
        self.values = [
            value for value in random_events(events) if value["cells"]["id"] == self.table.id
        ]
        self.now_s = 0
        self._added: list[EventValue] = []
        self._count = 0

    def add(self, values: list[EventValue]) -> None:
        tables = select_tables(self.schema, whole_counters=[COUNTERS])
        events = frame(self.spark, self.folder / f"events-{self._count}", values)
        batch = Batch("a", self._count, {"shop": {0: self._count}})
        reconcile(events, self.store, tables, batch)
        self._added += values
        self._count += 1

    def follower(self, target: RecordingHandler) -> Follower:
        folder = str(self.folder / "follower")
        return Follower(
            self.store, self.schema, [self.table], folder, target, clock=lambda: self.now_s
        )

    def expect(self, target: RecordingHandler, truncated_us: int | None) -> None:
        """Verify that the target has the visible rows."""
        merger = merger_of(self.schema, self.table)
        shown = [
            row
            for batch in merger.typed(
                input_batches(items(self._added)), now_s=self.now_s, truncated_us=truncated_us
            )
            for row in batch.drop_columns("cdc_row_id").to_pylist()
        ]
        followed = target.rows[self.table.id].values()
        assert sorted(map(repr, followed)) == sorted(map(repr, shown))


@pytest.mark.parametrize(
    ("name", "each"), [(TABLE, True), pytest.param(COUNTERS, False, marks=pytest.mark.slow)]
)
def test_target_follows_events_expiry_compaction_and_truncation(
    spark: SparkSession, tmp_path: Path, name: str, each: bool
) -> None:
    source, target = Source(spark, tmp_path, name, events=60), RecordingHandler(each=each)
    random.Random(1).shuffle(source.values)
    for number, now_s in enumerate((9, 10)):
        source.now_s = now_s
        source.add(source.values[number::2])
        if number == 1:
            assert compact(source.store, source.schema, now_s)
            source.store.truncate(source.table.id, 0)
        # Each step uses a new follower, which simulates a restart.
        follower = source.follower(target)
        assert follower.step() == 1
        source.expect(target, truncated_us=0 if number else None)
        assert target.calls[-1][3] == {"shop": {0: number}}
        stats = follower.stats[name]
        assert stats.newest_write_us is not None
        if number == 0:
            created = len(target.rows[source.table.id])
            assert (stats.batches, stats.created, stats.updated, stats.deleted) == (
                1,
                created,
                0,
                0,
            )
    # Only time passes.
    source.now_s = 100
    assert follower.step() == (name == TABLE)
    source.expect(target, truncated_us=0)
    assert follower.step() == 0
    assert follower.stats[name].position == Position(source.store.version(), 100)


def test_target_position_advances_when_other_tables_change(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The follower stores the position once a minute and reads truncations only if there are new
    ones."""
    monkeypatch.delattr(VersionStore, "truncated_us")
    reads: list[int] = []
    truncated_tables = VersionStore.truncated_tables

    def counted(store: VersionStore, version: int) -> dict[str, int]:
        reads.append(version)
        return truncated_tables(store, version)

    monkeypatch.setattr(VersionStore, "truncated_tables", counted)
    source, target = Source(spark, tmp_path), RecordingHandler(has_snapshot=False)
    source.now_s = start_s = 1000
    source.add(source.values)
    follower = source.follower(target)
    follower.step()
    for _ in range(2):
        source.store.truncate("of no table", 1)
        assert follower.step() == 0
    assert len(target.calls) == 1
    for _ in range(2):
        source.now_s += IDLE_S
        assert follower.step() == 0
    table_id, position = source.table.id, Position(3, start_s + IDLE_S)
    assert target.calls[1:] == [(table_id, Position(1, start_s), position, {"shop": {0: 0}}, 0)]
    assert target.positions[table_id] == position
    # Storing a position does not count as a batch, nor does a first fill that the target skips.
    assert (follower.stats[TABLE].batches, follower.stats[TABLE].created) == (0, 0)
    assert reads == [1, 2, 3]
    target.positions[table_id] = Position(7, 0)
    with pytest.raises(JobError, match="no log after version 7"):
        source.follower(target)


def test_unsupported_table_does_not_stop_other_tables(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Target(RecordingHandler):
        def interrupted(self, table: SourceTable) -> None:
            if table.full_name == TABLE:
                raise ColumnNameError(f"{TABLE}: the target reserves the name of a column.")

    source, target = Source(spark, tmp_path), Target()
    source.add(source.values)
    other = source.schema.table("shop.u")

    def follower(tables: list[SourceTable]) -> Follower:
        folder = str(tmp_path / "follower")
        return Follower(source.store, source.schema, tables, folder, target)

    followed = follower([source.table, other])
    followed.step()
    assert list(followed.rejected) == [TABLE]
    assert list(followed.stats) == [other.full_name]
    assert target.positions.keys() == {other.id}
    assert [record.levelname for record in caplog.records if TABLE in record.getMessage()] == [
        "ERROR"
    ]
    with pytest.raises(ColumnNameError, match="reserves the name"):
        follower([source.table])


PLACES = ("interrupted", "position", "apply")
FAULTS: dict[str, Exception] = {
    "name": ColumnNameError("the target reserves the name of a column."),
    "options": ConfigError("the layout differs."),
    "job": JobError("another job writes to the target."),
    "record": InputError("the value at 1 is damaged."),
    "Spark": PySparkException("[PARSE_SYNTAX_ERROR] a syntax error"),
    "any": ZeroDivisionError("by nought"),
}


@pytest.fixture
def empty_tables(spark: SparkSession, tmp_path: Path) -> tuple[VersionStore, SourceSchema]:
    """One table per fault, and one more."""
    path = tmp_path / "schema.cql"
    path.write_text(
        "".join(
            f"CREATE TABLE shop.t{number} (k int PRIMARY KEY) WITH ID = {UUID(int=number)};"
            for number in range(len(FAULTS) + 1)
        )
    )
    return VersionStore(spark, str(tmp_path / "store"), buckets=1), read_schema(path)


@pytest.mark.parametrize("place", PLACES)
def test_fault_of_one_table_does_not_stop_others(
    empty_tables: tuple[VersionStore, SourceSchema],
    tmp_path: Path,
    place: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, schema = empty_tables
    good, *failing = sorted(schema.tables, key=lambda table: table.full_name)
    faults = dict(zip((table.id for table in failing), FAULTS.values(), strict=True))
    is_failing = [True]

    class Target(RecordingHandler):
        def _fail(self, table: SourceTable, at: str) -> None:
            if is_failing[0] and at == place and table.id in faults:
                raise faults[table.id]

        def interrupted(self, table: SourceTable) -> None:
            self._fail(table, "interrupted")

        def position(self, table: SourceTable) -> Position | None:
            self._fail(table, "position")
            return super().position(table)

        def apply(self, table: SourceTable, *arguments: Any, **named: Any) -> None:
            self._fail(table, "apply")
            super().apply(table, *arguments, **named)

    target = Target()
    followed = Follower(store, schema, [*failing, good], str(tmp_path / "follower"), target)
    followed.step()
    assert target.positions.keys() == {good.id}
    assert followed.rejected.keys() == {table.full_name for table in failing}
    for table in failing:
        assert str(faults[table.id]) in str(followed.rejected[table.full_name])
        assert table.full_name in caplog.text
    is_failing[0] = False
    followed.step()
    is_tried_again = place == "apply"
    assert (target.positions.keys() >= faults.keys()) == is_tried_again
    assert bool(followed.rejected) != is_tried_again


def test_fault_of_all_tables_ends_job(
    empty_tables: tuple[VersionStore, SourceSchema], tmp_path: Path
) -> None:
    class Target(RecordingHandler):
        def apply(self, *arguments: Any, **named: Any) -> None:
            raise JobError("the disk is full.")

    store, schema = empty_tables
    follower = Follower(store, schema, schema.tables[:1], str(tmp_path / "follower"), Target())
    with pytest.raises(JobError, match="the disk is full"):
        follower.step()
