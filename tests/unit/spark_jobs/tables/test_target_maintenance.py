"""The commands compact, expire and history keep the position and readable old versions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType

from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.target import apply_batch, read_progress
from tests.support.fixtures.spark import RunModule
from tests.support.spark.session import descriptions
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

pytestmark = pytest.mark.usefixtures("root_logger")
COLUMNS = {"k": IntegerType(), "v": StringType()}
FIRST, SECOND = (CommitPosition(APP, TABLE_ID, number, 1_700_000_000) for number in (1, 2))


@pytest.fixture
def run(run_module: RunModule) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Run a command with --json. Returns its exit code and its document."""

    def run_command(name: str, **settings: Any) -> tuple[int, dict[str, Any]]:
        code, printed, _ = run_module(f"spark_jobs.tables.{name}", settings, "--json")
        return code, json.loads(printed)

    return run_command


@pytest.mark.parametrize(
    ("table_format", "deletes"),
    [
        ("delta", None),
        pytest.param("iceberg", "position", marks=pytest.mark.slow),
        ("iceberg", "equality"),
    ],
)
def test_maintenance_keeps_rows_and_position(
    spark: SparkSession,
    tmp_path: Path,
    run: Callable[..., tuple[int, dict[str, Any]]],
    table_format: str,
    deletes: str | None,
) -> None:
    chosen = {} if deletes is None else {"iceberg.deletes": deletes}
    options = target_options(spark, tmp_path, table_format, **chosen)
    settings = {"format": table_format, "target": options.target, "tables": NAME}
    code, document = run("history", **settings)
    assert (code, "does not exist" in document["error"]) == (2, True)

    table = new_table(spark, options, COLUMNS)
    batches: tuple[tuple[CommitPosition, CommitPosition | None, list[Change]], ...] = (
        (FIRST, None, [(key, "c", {"k": key, "v": "a"}) for key in range(4)]),
        (SECOND, FIRST, [(0, "d", None), (1, "u", {"k": 1, "v": "b"})]),
    )
    for position, before, changes in batches:
        apply_batch(table, batch_of(spark, COLUMNS, changes), position, before)

    code, document = run("compact", **settings)
    assert (code, document["tables"][NAME]["files_added"]) == (0, 1)
    assert f"tables: {NAME}, compacted" in descriptions(spark)
    if deletes is not None:
        left = spark.table(f"{table.sql_name}.delete_files")
        assert left.count() == 0
    assert run("expire", **settings, **{"retain.seconds": "2h"})[0] == 0
    code, document = run("history", **settings)
    assert code == 0
    commits = document["tables"][NAME]
    assert commits[0]["position"]["store_version"] == SECOND.store_version
    (oldest,) = [
        commit for commit in commits if (commit["position"] or {}).get("store_version") == 1
    ]
    assert len(stored_rows(spark.sql(oldest["query"]))) == 4
    assert SECOND.is_of_batch(read_progress(table).complete)
    assert stored_rows(table.read()) == {
        row_id(key): {"k": key, "v": value} for key, value in ((1, "b"), (2, "a"), (3, "a"))
    }
