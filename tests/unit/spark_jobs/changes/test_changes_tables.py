"""The tables of changes with repeated batches and new columns."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.changes.changes_tables import ChangesTable, IcebergChangesTable
from spark_jobs.changes.handler import BegunBatch, ChangeSink
from spark_jobs.follow.plan import Position
from spark_jobs.tables.columns import ColumnChangeError
from spark_jobs.tables.format.iceberg import IcebergTypedTable
from spark_jobs.tables.format.typed_table import newest_position
from spark_jobs.watermarks.job import read_store_offsets
from tests.support.spark.changes import ORDERS, ORDERS_ROW, POSITION, Change, changes_frame

ROW = {"id": 7, "seq": 3, "note": "a"}
FIRST = BegunBatch(1, None, POSITION, {}, {"t": {0: 5}})
SECOND = BegunBatch(2, POSITION, Position(18, POSITION.second), {}, {"t": {0: 9, 1: 2}})


def verify_batches(spark: SparkSession, table: ChangeSink) -> None:
    """Write two batches, the second one twice. Between them the source gains a column."""
    existing = changes_frame(spark, [Change(None, ROW)])
    later_row = {"amount": 5, **ROW}
    later = changes_frame(
        spark,
        [Change(ROW, later_row), Change(later_row, None, 1, op="d"), Change(ROW, ROW, 2, op=None)],
        f"amount tinyint, {ORDERS_ROW}",
    )
    table.write(existing, FIRST, is_resumed=False)
    for is_resumed in (False, True):
        table.write(later, SECOND, is_resumed=is_resumed)


def assert_each_change_once(table: DataFrame) -> None:
    rows = table.orderBy("store_version", "seq").collect()
    assert [(row.op, row.store_version, row.seq) for row in rows] == [
        ("r", 17, 0),
        ("u", 18, 0),
        ("d", 18, 1),
    ]
    assert rows[0].before is None
    assert rows[0].after.asDict() == {**ROW, "amount": None}
    assert rows[1].after.asDict() == rows[2].before.asDict() == {**ROW, "amount": 5}
    assert len({bytes(row.id) for row in rows}) == len(rows)


def test_delta_table_contains_each_change_once(spark: SparkSession, tmp_path: Path) -> None:
    verify_batches(spark, ChangesTable(str(tmp_path), ORDERS, "app"))
    assert_each_change_once(spark.read.format("delta").load(str(tmp_path)))
    assert read_store_offsets(spark, str(tmp_path)) == SECOND.offsets


def test_delta_table_accepts_any_column_name(spark: SparkSession, tmp_path: Path) -> None:
    table = ChangesTable(str(tmp_path), ORDERS, "app")
    row = {**ROW, "a b": 1, "(ü)": 2}
    changes = changes_frame(spark, [Change(None, row)], f"`a b` int, `(ü)` int, {ORDERS_ROW}")
    table.write(changes, FIRST, is_resumed=False)
    (stored,) = spark.read.format("delta").load(str(tmp_path)).collect()
    assert stored.after.asDict() == row


def test_iceberg_table_contains_each_change_once(spark: SparkSession, tmp_path: Path) -> None:
    name = ("lake", tmp_path.name, "orders")
    table = IcebergChangesTable(spark, name, ORDERS, "app")
    verify_batches(spark, table)
    assert_each_change_once(spark.table(".".join(name)))
    position = newest_position(IcebergTypedTable(spark, name).commits())
    assert position is not None
    assert position.offsets == {"t": {"0": 9, "1": 2}}
    # The same number in another checkpoint is another batch.
    other = IcebergChangesTable(spark, name, ORDERS, "other")
    other.write(changes_frame(spark, [Change(None, ROW)]), SECOND, is_resumed=True)
    assert spark.table(".".join(name)).count() == 4
    replaced = changes_frame(spark, [Change(None, {"id": 7})], "id int, seq int, note int")
    with pytest.raises(ColumnChangeError, match=r"after\.note|before\.note"):
        table.write(replaced, BegunBatch(3, SECOND.after, Position(19, 0), {}), is_resumed=False)
