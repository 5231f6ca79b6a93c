"""The handler after crashes and schema changes, and tables of other owners."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from spark_jobs.follow import InterruptedBatch, Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.tables.commit_position import Part
from spark_jobs.tables.format import delta
from spark_jobs.tables.format.typed_table import TargetError
from spark_jobs.tables.job import TypedTables
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import open_table, read_progress, read_table
from tests.support.spark.session import descriptions
from tests.support.spark.typed_tables import (
    APP,
    NAME,
    Change,
    changes_frame,
    counts_of,
    row_id,
    stored_rows,
    target_options,
)

Columns = Mapping[str, DataType]
TABLE = SourceTable("table-1", "shop", "carts", ("k",), False, False, frozenset("vn"), {})
COLUMNS: Columns = {"k": IntegerType(), "v": StringType(), "n": ShortType()}
FIRST, SECOND, THIRD = Position(1, 100), Position(2, 100), Position(2, 160)


class Source:
    """A version store with changes set by the test, keyed by position."""

    def __init__(self, session: SparkSession, options: TargetOptions) -> None:
        self.session = session
        self.options = options
        self.columns = COLUMNS
        self.changes: dict[tuple[Position | None, Position], Sequence[Change]] = {}

    def read(self, before: Position | None, after: Position) -> DataFrame:
        return changes_frame(self.session, self.columns, self.changes[before, after])

    def counts(self, before: Position | None, after: Position) -> Mapping[str, int]:
        return counts_of(self.changes[before, after])

    def handler(self, app: str = APP) -> TypedTables:
        """A handler as created at the start of the job."""

        def typed(_: SourceTable) -> StructType:
            return StructType([StructField(*column) for column in self.columns.items()])

        return TypedTables(self.session, self.options, app, typed)

    def apply(
        self, handler: TypedTables, table: SourceTable, before: Position | None, after: Position
    ) -> None:
        counts = self.counts(before, after)
        handler.apply(table, self.read(before, after), counts, before, after, {"t": {0: 9}})

    def rows(self) -> dict[bytes, dict[str, object]]:
        return stored_rows(read_table(self.session, self.options, NAME))


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path, table_format: str) -> Source:
    session = spark.newSession()
    return Source(session, target_options(session, tmp_path, table_format))


@pytest.mark.parametrize("table_format", ["delta", pytest.param("iceberg", marks=pytest.mark.slow)])
def test_typed_columns_follow_source_table(source: Source) -> None:
    source.changes[None, FIRST] = [
        (1, "c", {"k": 1, "v": "a", "n": 5}),
        (2, "c", {"k": 2, "v": "b", "n": None}),
    ]
    handler = source.handler()
    assert handler.position(TABLE) is None
    source.apply(handler, TABLE, None, FIRST)

    # The key is renamed, one column is dropped, another is dropped and added with another type, and
    # one is new.
    items = ArrayType(StructType([StructField("a", IntegerType())]))
    source.columns = {"id": IntegerType(), "items": items, "n": StringType()}
    changed = replace(TABLE, columns=frozenset(["items", "n"]), dropped={"v": 5, "n": 7})
    handler = source.handler()
    assert handler.position(changed) == FIRST
    assert source.rows() == {
        row_id(1): {"id": 1, "items": None, "n": None},
        row_id(2): {"id": 2, "items": None, "n": None},
    }
    source.changes[FIRST, SECOND] = [(2, "u", {"id": 2, "items": [(3,)], "n": "4"})]
    source.apply(handler, changed, FIRST, SECOND)
    assert source.rows()[row_id(2)] == {"id": 2, "items": [{"a": 3}], "n": "4"}
    # Delta and Spark add the names of their own steps.
    wanted = "tables: shop.carts, insert 0 rows, update or delete 1"
    assert any(wanted in (each or "") for each in descriptions(source.session))


@pytest.mark.parametrize("table_format", ["delta"])
def test_start_finishes_batch_of_killed_job(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.changes[None, FIRST] = [(1, "c", {"k": 1, "v": "a", "n": None})]
    source.changes[FIRST, THIRD] = [(1, "d", None), (2, "c", {"k": 2, "v": "b", "n": None})]
    handler = source.handler()
    handler.position(TABLE)
    source.apply(handler, TABLE, None, FIRST)
    with monkeypatch.context() as patch:
        patch.delattr(delta, "insert_statement")
        with pytest.raises(NameError):
            source.apply(handler, TABLE, FIRST, THIRD)
    handler = source.handler()
    assert handler.interrupted(TABLE) == InterruptedBatch(FIRST, THIRD)
    handler.finish(TABLE, source.read(FIRST, THIRD), source.counts(FIRST, THIRD))
    assert handler.interrupted(TABLE) is None
    assert handler.position(TABLE) == THIRD
    assert source.rows() == {row_id(2): {"k": 2, "v": "b", "n": None}}
    target = open_table(source.session, source.options, NAME)
    complete = read_progress(target).complete
    assert complete is not None
    assert (complete.part, complete.offsets) == (Part.INSERT, {"t": {"0": 9}})

    for app, table_id, text in (
        ("store-2", TABLE.id, "another store"),
        (APP, "table-2", "dropped in Cassandra"),
    ):
        with pytest.raises(TargetError, match=text):
            source.handler(app).position(replace(TABLE, id=table_id))

    # Another program has expired the commits with a position.
    unnamed = [replace(commit, position=None) for commit in target.commits()]
    monkeypatch.setattr(delta.DeltaTypedTable, "commits", lambda *_: unnamed)
    with pytest.raises(TargetError, match="no longer contains a position"):
        source.handler().position(TABLE)
