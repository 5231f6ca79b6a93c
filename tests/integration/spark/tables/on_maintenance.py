"""Batches while another thread compacts and expires the table: nothing is lost or repeated."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType

from spark_jobs.tables.apply_batch import apply_batch, progress_of
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.conflicts import repeated
from spark_jobs.tables.format.protocol import TypedTable
from spark_jobs.tables.target import open_table
from tests.support.spark.typed_tables import (
    APP,
    FORMATS,
    NAME,
    TABLE_ID,
    Change,
    batch_of,
    new_table,
    row_id,
    stored_rows,
    target_options,
)

COLUMNS = {"k": IntegerType(), "v": StringType()}
ROWS = 20
BATCHES = 6


def position(number: int) -> CommitPosition:
    return CommitPosition(APP, TABLE_ID, number, 1_700_000_000)


def maintain(table: TypedTable, stop: Event) -> int:
    """Compact and expire until `stop` is set, at least once. Returns how often."""
    rounds = 0
    while not rounds or not stop.is_set():
        repeated(table, table.compact)
        repeated(table, partial(table.expire, 3600))
        rounds += 1
    return rounds


@pytest.mark.parametrize("table_format", FORMATS)
def test_batches_during_maintenance(spark: SparkSession, tmp_path: Path, table_format: str) -> None:
    session, other = spark.newSession(), spark.newSession()
    table = new_table(session, target_options(session, tmp_path, table_format), COLUMNS)
    generator = random.Random(1)
    state: dict[int, dict[str, Any]] = {}

    def apply(number: int, changes: list[Change]) -> None:
        before = position(number - 1) if number > 1 else None
        apply_batch(table, batch_of(session, COLUMNS, changes), position(number), before)

    for key in range(ROWS):
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
                # Every second batch also has a new row, so it is more than one commit.
                if number % 2:
                    new = ROWS + number
                    state[new] = {"k": new, "v": "new"}
                    changes.append((new, "c", state[new]))
                apply(number, changes)
        finally:
            stop.set()
        assert maintenance.result() > 0
    assert stored_rows(table.read()) == {row_id(key): row for key, row in state.items()}
    progress = progress_of(table)
    assert position(BATCHES - 1).is_of_batch(progress.complete)
    assert progress.merged is None
    versions = [
        each.position.store_version for each in table.commits() if each.position is not None
    ]
    assert versions == sorted(versions, reverse=True)
    assert set(versions) == set(range(1, BATCHES))
