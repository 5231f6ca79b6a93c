"""The Delta table of changes over repeated batches and new columns."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.changes.changes_table import ChangesTable
from spark_jobs.changes.journal import BegunBatch
from spark_jobs.follow.position import Position
from tests.support.spark.changes import ORDERS, ORDERS_ROW, POSITION, Change, changes_frame

ROW = {"id": 7, "seq": 3, "note": "a"}
FIRST = BegunBatch(1, None, POSITION, {})
SECOND = BegunBatch(2, POSITION, Position(18, POSITION.second), {})


def test_a_repeated_batch_is_appended_once(spark: SparkSession, tmp_path: Path) -> None:
    table = ChangesTable(str(tmp_path), ORDERS, "app")
    existing = changes_frame(spark, [Change(None, ROW)])
    later_row = {**ROW, "amount": 5}
    later = changes_frame(
        spark,
        [Change(ROW, later_row), Change(later_row, None, 1, op="d"), Change(ROW, ROW, 2, op=None)],
        f"{ORDERS_ROW}, amount int",
    )
    for batch, changes in ((FIRST, existing), (SECOND, later)):
        table.write(changes, batch, is_resumed=False)
        table.write(changes, batch, is_resumed=True)
    rows = spark.read.format("delta").load(str(tmp_path)).orderBy("store_version", "seq").collect()
    assert [(row.op, row.store_version, row.seq) for row in rows] == [
        ("r", 17, 0),
        ("u", 18, 0),
        ("d", 18, 1),
    ]
    assert rows[0].after.asDict() == {**ROW, "amount": None}
    assert rows[1].after.asDict() == rows[2].before.asDict() == later_row
    assert len({bytes(row.id) for row in rows}) == len(rows)
    history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}`").orderBy("version").collect()
    assert [json.loads(commit.userMetadata)["store_version"] for commit in history] == [17, 18]
