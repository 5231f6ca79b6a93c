"""`partition.by` and `cluster.by`: the files of both formats really have the layout."""

import random
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import IntegerType

from spark_jobs.tables.apply_batch import apply_batch
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.format.protocol import TypedTable
from spark_jobs.tables.net_changes import net_changes
from tests.support.spark.typed_tables import (
    APP,
    NAME,
    TABLE_ID,
    Change,
    changes_frame,
    counts_of,
    new_table,
    stored_rows,
    target_options,
)

COLUMNS = {"k": IntegerType(), "n": IntegerType()}
ROWS = 120


def filled(
    session: SparkSession,
    folder: Path,
    table_format: str,
    layout: Mapping[str, str],
    batches: int = 2,
) -> TypedTable:
    """A table with `ROWS` rows: `k` is the key, `n` is random. Each batch has all changes."""
    settings = {f"{name}.{NAME}": value for name, value in layout.items()}
    options = target_options(session, folder, table_format, **settings)
    table = new_table(session, options, COLUMNS)
    generator = random.Random(5)
    keys = generator.sample(range(ROWS), k=ROWS)
    before = None
    for number in range(batches):
        new = keys[number::batches]
        changes: list[Change] = [
            (key, "c", {"k": key, "n": generator.randrange(1000)}) for key in new
        ]
        if number:
            # Later batches also update a row.
            changes.append((keys[0], "u", {"k": keys[0], "n": number}))
        position = CommitPosition(APP, TABLE_ID, number + 1, 1_700_000_000)
        frame = changes_frame(session, COLUMNS, changes).repartition(2)
        apply_batch(table, net_changes(frame, COLUMNS, counts_of(changes)), position, before)
        before = position
    assert len(stored_rows(table.read())) == ROWS
    return table


def values_by_file(rows: list[Row], column: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["file"], []).append(row[column])
    return found


def delta_files(table: TypedTable, column: str) -> dict[str, list[int]]:
    rows = table.read().selectExpr("_metadata.file_path AS file", column).collect()
    return values_by_file(rows, column)


def test_delta_partitions(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    table = filled(session, tmp_path, "delta", {"partition.by": "n"})
    for _ in range(2):
        assert all(len(set(values)) == 1 for values in delta_files(table, "n").values())
        table.compact()


def test_delta_clusters(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    table = filled(session, tmp_path, "delta", {"cluster.by": "n"})
    session.conf.set("spark.databricks.delta.optimize.maxFileSize", "2000")
    table.compact()
    ranges = sorted((min(each), max(each)) for each in delta_files(table, "n").values())
    assert len(ranges) > 1
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


def test_iceberg_partitions_and_order(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    layout = {"partition.by": "truncate(60, k)", "cluster.by": "n"}
    # Iceberg rewrites partitions of at least five files.
    table = filled(session, tmp_path, "iceberg", layout, batches=5)
    verify_iceberg(session, table)
    assert table.compact()["files_added"] == 2
    verify_iceberg(session, table)


def verify_iceberg(session: SparkSession, table: TypedTable) -> None:
    """Verify that each file has one partition, and its rows in order."""
    rows = session.sql(
        f"SELECT _file AS file, _pos, k, n FROM {table.sql_name} ORDER BY _file, _pos"
    ).collect()
    for keys in values_by_file(rows, "k").values():
        assert len({key // 60 for key in keys}) == 1
    for values in values_by_file(rows, "n").values():
        assert values == sorted(values)
