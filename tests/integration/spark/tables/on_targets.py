"""Targets on every release of Spark: layouts, maintenance during batches, Iceberg catalogs."""

import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType

from spark_jobs.tables.columns import Columns
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.format.typed_table import TypedTable, net_changes
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import apply_batch, evolve, open_table, read_progress, retry
from tests.support.servers.iceberg_rest import IcebergRestCatalog
from tests.support.spark.options import options_of
from tests.support.spark.typed_tables import (
    APP,
    FORMATS,
    NAME,
    TABLE_ID,
    Change,
    batch_of,
    changes_frame,
    counts_of,
    new_table,
    row_id,
    stored_rows,
    target_options,
)

COLUMNS: Columns = {"k": IntegerType(), "n": IntegerType()}
ROWS = 120


def filled(
    session: SparkSession,
    folder: Path,
    table_format: str,
    layout: Mapping[str, str],
    batches: int = 2,
) -> TypedTable:
    """Table with `ROWS` rows: `k` is the key, `n` is random. Each batch has all kinds of
    changes."""
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


def test_delta_table_is_partitioned(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    table = filled(session, tmp_path, "delta", {"partition.by": "n"})
    for _ in range(2):
        assert all(len(set(values)) == 1 for values in delta_files(table, "n").values())
        table.compact()


def test_delta_table_is_clustered_by_compaction(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    table = filled(session, tmp_path, "delta", {"cluster.by": "n"})
    session.conf.set("spark.databricks.delta.optimize.maxFileSize", "2000")
    table.compact()
    ranges = sorted((min(each), max(each)) for each in delta_files(table, "n").values())
    assert len(ranges) > 1
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


def test_iceberg_table_is_partitioned_and_ordered(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    layout = {"partition.by": "truncate(60, k)", "cluster.by": "n"}
    # Iceberg rewrites partitions of at least five files.
    table = filled(session, tmp_path, "iceberg", layout, batches=5)
    verify_iceberg(session, table)
    assert table.compact()["files_added"] == 2
    verify_iceberg(session, table)


def verify_iceberg(session: SparkSession, table: TypedTable) -> None:
    """Verify that each file contains one partition, with its rows in order."""
    rows = session.sql(
        f"SELECT _file AS file, _pos, k, n FROM {table.sql_name} ORDER BY _file, _pos"
    ).collect()
    for keys in values_by_file(rows, "k").values():
        assert len({key // 60 for key in keys}) == 1
    for values in values_by_file(rows, "n").values():
        assert values == sorted(values)


NAMED = {"k": IntegerType(), "v": StringType()}
FEW = 20
BATCHES = 6


def position(number: int) -> CommitPosition:
    return CommitPosition(APP, TABLE_ID, number, 1_700_000_000)


def maintain(table: TypedTable, stop: Event) -> int:
    """Compact and expire until `stop` is set, at least once; returns the number of runs."""
    rounds = 0
    while not rounds or not stop.is_set():
        retry(table, table.compact)
        retry(table, partial(table.expire, 3600))
        rounds += 1
    return rounds


@pytest.mark.parametrize("table_format", FORMATS)
def test_batches_during_maintenance_lose_no_change(
    spark: SparkSession, tmp_path: Path, table_format: str
) -> None:
    session, other = spark.newSession(), spark.newSession()
    table = new_table(session, target_options(session, tmp_path, table_format), NAMED)
    generator = random.Random(1)
    state: dict[int, dict[str, Any]] = {}

    def apply(number: int, changes: list[Change]) -> None:
        before = position(number - 1) if number > 1 else None
        apply_batch(table, batch_of(session, NAMED, changes), position(number), before)

    for key in range(FEW):
        state[key] = {"k": key, "v": "first"}
    apply(1, [(key, "c", row) for key, row in state.items()])
    stop = Event()
    with ThreadPoolExecutor(1) as pool:
        same = open_table(other, target_options(other, tmp_path, table_format), NAME)
        maintenance = pool.submit(maintain, same, stop)
        try:
            for number in range(2, BATCHES):
                keys = generator.sample(sorted(state), k=5)
                state.update({key: {"k": key, "v": f"of batch {number}"} for key in keys})
                changes: list[Change] = [(key, "u", state[key]) for key in keys]
                # Every second batch also contains a new row, so it needs several commits.
                if number % 2:
                    new = FEW + number
                    state[new] = {"k": new, "v": "new"}
                    changes.append((new, "c", state[new]))
                apply(number, changes)
        finally:
            stop.set()
        assert maintenance.result() > 0
    assert stored_rows(table.read()) == {row_id(key): row for key, row in state.items()}
    progress = read_progress(table)
    assert position(BATCHES - 1).is_of_batch(progress.complete)
    assert progress.merged is None
    versions = [
        each.position.store_version for each in table.commits() if each.position is not None
    ]
    assert versions == sorted(versions, reverse=True)
    assert set(versions) == set(range(1, BATCHES))


WIDER: Columns = {"k": IntegerType(), "n": LongType(), "v": StringType()}
FIRST, SECOND, THIRD = (
    CommitPosition(APP, TABLE_ID, number, 1_700_000_000, offsets={"t": {"0": number}})
    for number in (1, 2, 3)
)


@contextmanager
def jdbc(folder: Path) -> Iterator[Mapping[str, str]]:
    yield {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{folder / 'catalog.db'}",
        "jdbc.schema-version": "V1",
        "warehouse": str(folder / "warehouse"),
    }


@contextmanager
def rest(folder: Path) -> Iterator[Mapping[str, str]]:
    with IcebergRestCatalog(folder) as catalog:
        yield {"type": "rest", "uri": catalog.url}


@pytest.mark.servers
@pytest.mark.parametrize("catalog", [jdbc, rest])
def test_iceberg_catalog_table_survives_a_process_change(
    spark: SparkSession,
    tmp_path: Path,
    catalog: Callable[[Path], AbstractContextManager[Mapping[str, str]]],
) -> None:
    with catalog(tmp_path) as settings:
        name = f"lake_{tmp_path.name}"

        def new_session() -> SparkSession:
            """Session with its own catalog, like another process."""
            session = spark.newSession()
            session.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
            for key, value in settings.items():
                session.conf.set(f"spark.sql.catalog.{name}.{key}", value)
            return session

        options = options_of(
            TargetOptions,
            {"format": "iceberg", "target": f"{name}.raw", "iceberg.format.version": "3"},
        )
        session = new_session()
        table = new_table(session, options, COLUMNS)

        def apply(
            columns: Columns,
            position: CommitPosition,
            before: CommitPosition | None,
            *changes: Change,
        ) -> None:
            apply_batch(table, batch_of(session, columns, changes), position, before)

        rows: list[Change] = [(key, "c", {"k": key, "n": key}) for key in range(4)]
        apply(COLUMNS, FIRST, None, *rows)
        apply(
            COLUMNS,
            SECOND,
            FIRST,
            (0, "d", None),
            (1, "u", {"k": 1, "n": 7}),
            (9, "c", {"k": 9, "n": 9}),
        )
        # Another process finds the position, changes the columns and continues.
        session = new_session()
        table = open_table(session, options, NAME)
        assert read_progress(table).complete == SECOND
        evolve(table, WIDER, 1, frozenset())
        apply(WIDER, THIRD, SECOND, (1, "u", {"k": 1, "n": 1 << 40, "v": "x"}))
        expected = {
            row_id(1): {"k": 1, "n": 1 << 40, "v": "x"},
            **{row_id(key): {"k": key, "n": key, "v": None} for key in (2, 3, 9)},
        }
        assert stored_rows(table.read()) == expected

        assert table.compact()["files_added"] == 1
        table.expire(3600)
        assert read_progress(table).complete == THIRD
        assert stored_rows(table.read()) == expected
        first = next(each.version for each in table.commits() if each.position == FIRST)
        assert set(stored_rows(table.read(first))) == {row_id(key) for key in range(4)}
