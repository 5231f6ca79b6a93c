"""Batches of changes, some applied twice or partially, and actions with commit conflicts."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType

from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.format import delta, iceberg
from spark_jobs.tables.format.typed_table import TargetError, TypedTable
from spark_jobs.tables.target import (
    ATTEMPTS,
    ConflictError,
    apply_batch,
    open_table,
    read_progress,
    retry,
)
from tests.support.spark.typed_tables import (
    APP,
    NAME,
    TABLE_ID,
    Change,
    batch_of,
    new_table,
    row_id,
    stored_rows,
    target_options,
)

TABLE = cast(
    TypedTable,
    SimpleNamespace(
        sql_name="lake.shop.carts", is_conflict=lambda error: isinstance(error, OSError)
    ),
)


def commit(conflicts: int) -> Callable[[], str]:
    """An action with a number of conflicts before its success."""
    ahead = [OSError("another commit came first")] * conflicts

    def act() -> str:
        if ahead:
            raise ahead.pop()
        return "committed"

    return act


def test_conflicting_action_is_retried_until_limit() -> None:
    assert retry(TABLE, commit(ATTEMPTS - 1)) == "committed"
    with pytest.raises(ConflictError, match=f"carts: {ATTEMPTS} attempts conflicted"):
        retry(TABLE, commit(ATTEMPTS))


def test_unrelated_error_is_raised_immediately() -> None:
    with pytest.raises(ZeroDivisionError):
        retry(TABLE, lambda: 1 / 0)


COLUMNS = {"k": IntegerType(), "v": StringType()}


def position(number: int) -> CommitPosition:
    return CommitPosition(APP, TABLE_ID, number, 1_700_000_000 + number)


def row(key: int, value: str) -> dict[str, Any]:
    return {"k": key, "v": value}


FIRST: list[Change] = [(key, "c", row(key, "a")) for key in range(4)]
SECOND: list[Change] = [(0, "d", None), (1, "u", row(1, "b")), (4, "c", row(4, "b"))]
FOLD = {row_id(key): row(key, value) for key, value in ((1, "b"), (2, "a"), (3, "a"), (4, "b"))}


@pytest.mark.parametrize(
    ("table_format", "settings"),
    [
        ("delta", {}),
        ("iceberg", {}),
        pytest.param("iceberg", {"iceberg.deletes": "equality"}, marks=pytest.mark.slow),
    ],
)
def test_table_equals_fold_of_batches(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table_format: str,
    settings: dict[str, str],
) -> None:
    session = spark.newSession()
    options = target_options(session, tmp_path, table_format, **settings)
    table = new_table(session, options, COLUMNS)
    apply_batch(table, batch_of(session, COLUMNS, FIRST), position(1), None)

    # Maintenance runs first. Then the process crashes between the updates and the new rows.
    raised = [
        KeyboardInterrupt(),
        RuntimeError("DELTA_CONCURRENT_APPEND, or ValidationException of Iceberg"),
    ]

    def failing(*_: object, **__: object) -> str:
        if len(raised) > 1:
            table.record(position(1))
        raise raised.pop()

    batch = batch_of(session, COLUMNS, SECOND)
    with monkeypatch.context() as patch:
        for module in (delta, iceberg):
            patch.setattr(module, "insert_statement", failing)
        with pytest.raises(KeyboardInterrupt):
            apply_batch(table, batch, position(2), position(1))
    visible = stored_rows(table.read())
    assert visible == {row_id(number): after for number, _, after in FIRST}
    # The next process has not read the table yet.
    table = open_table(session, options, NAME)
    apply_batch(table, batch, position(2), position(1))
    assert stored_rows(table.read()) == FOLD
    commits = table.commits()
    apply_batch(table, batch, position(2), position(1))
    assert table.commits() == commits

    with pytest.raises(TargetError, match="another job writes"):
        apply_batch(table, batch, position(3), position(1))
    # Maintenance repeats a position that it read before the last batch.
    table.record(position(1))
    assert position(2).is_of_batch(table.commits()[0].position)
    apply_batch(table, batch_of(session, COLUMNS, ()), position(3), position(2))
    progress = read_progress(table)
    assert position(3).is_of_batch(progress.complete)
    assert progress.merged is None
    assert stored_rows(table.read()) == FOLD


pytestmark = pytest.mark.usefixtures("root_logger")
