"""Batches of changes, some applied twice or by half: the table is their fold."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType

from spark_jobs.tables.apply_batch import apply_batch, progress_of
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.format import delta, iceberg
from spark_jobs.tables.format.protocol import TargetError
from spark_jobs.tables.net_changes import NetChanges, net_changes
from tests.support.spark.typed_tables import (
    APP,
    FORMATS,
    TABLE_ID,
    Change,
    changes_frame,
    new_table,
    row_id,
    stored_rows,
    target_options,
)

COLUMNS = {"k": IntegerType(), "v": StringType()}
ROWS = 12
State = dict[int, Mapping[str, Any]]


class KilledError(Exception):
    """A process that ends between two commits."""


def batch(state: State, number: int, generator: random.Random) -> list[Change]:
    """Changes that fit the state, which they change."""
    changes: list[Change] = []
    for key in generator.sample(range(ROWS), k=5):
        row = {"k": key, "v": f"of batch {number}"}
        if key not in state:
            changes.append((key, "c", row))
            state[key] = row
        elif generator.random() < 0.4:
            changes.append((key, "d", None))
            del state[key]
        else:
            changes.append((key, "u", row))
            state[key] = row
    return changes


def position(number: int) -> CommitPosition:
    return CommitPosition(APP, TABLE_ID, number, 1_700_000_000 + number)


def killed(*_: object, **__: object) -> str:
    raise KilledError


@pytest.mark.parametrize(
    ("table_format", "settings"),
    [("delta", {}), ("iceberg", {}), ("iceberg", {"iceberg.deletes": "equality"})],
)
def test_a_table_is_the_fold_of_its_batches(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table_format: str,
    settings: dict[str, str],
) -> None:
    generator = random.Random(3)
    session = spark.newSession()
    options = target_options(session, tmp_path, table_format, **settings)
    table = new_table(session, options, COLUMNS)
    state: State = {}
    before = None
    for number in range(1, 4):
        frame = changes_frame(session, COLUMNS, batch(state, number, generator))
        changes, after = net_changes(frame, COLUMNS), position(number)
        assert changes.inserts
        if number == 3:
            assert changes.matched
            visible = stored_rows(table.read())
            with monkeypatch.context() as patch:
                for module in (delta, iceberg):
                    patch.setattr(module, "insert_statement", killed)
                with pytest.raises(KilledError):
                    apply_batch(table, changes, after, before)
            assert stored_rows(table.read()) == visible
        apply_batch(table, changes, after, before)
        if number == 2:
            apply_batch(table, changes, after, before)
        before = after
        assert after.is_of_batch(progress_of(table).complete)
        assert stored_rows(table.read()) == {row_id(key): row for key, row in state.items()}


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_batch_is_repeated_after_maintenance_and_refused_after_another_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_format: str
) -> None:
    session = spark.newSession()
    table = new_table(session, target_options(session, tmp_path, table_format), COLUMNS)

    def changes(*given: Change) -> NetChanges:
        return net_changes(changes_frame(session, COLUMNS, given), COLUMNS)

    def row(value: str) -> dict[str, Any]:
        return {"k": 1, "v": value}

    apply_batch(table, changes((1, "c", row("a"))), position(1), None)
    module = {"delta": delta, "iceberg": iceberg}[table_format]
    statement: Callable[..., str] = module.merge_statement
    meanwhile = [lambda: table.record(position(1))]

    def interrupted(*arguments: Any) -> str:
        if meanwhile:
            meanwhile.pop()()
            raise RuntimeError("DELTA_CONCURRENT_APPEND, or ValidationException of Iceberg")
        return statement(*arguments)

    monkeypatch.setattr(module, "merge_statement", interrupted)
    both = changes((1, "u", row("b")), (2, "c", row("c")))
    apply_batch(table, both, position(2), position(1))
    assert meanwhile == []
    assert stored_rows(table.read()) == {row_id(1): row("b"), row_id(2): row("c")}

    with pytest.raises(TargetError, match="another job writes"):
        apply_batch(table, both, position(3), position(1))
    # Maintenance repeats a position that it read before the last batch.
    table.record(position(1))
    assert position(2).is_of_batch(table.commits()[0].position)
    apply_batch(table, changes(), position(3), position(2))
    assert position(3).is_of_batch(progress_of(table).complete)
