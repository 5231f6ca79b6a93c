"""Typed tables of Iceberg in a JDBC catalog and in a REST catalog."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType

from spark_jobs.tables.apply_batch import apply_batch, progress_of
from spark_jobs.tables.columns import Columns
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.options import TargetOptions
from spark_jobs.tables.target import evolve, open_table
from tests.support.servers.iceberg_rest import IcebergRestCatalog
from tests.support.spark.options import options_of
from tests.support.spark.typed_tables import (
    APP,
    NAME,
    TABLE_ID,
    Change,
    batch_of,
    new_table,
    row_id,
    stored_rows,
)

pytestmark = pytest.mark.servers
COLUMNS: Columns = {"k": IntegerType(), "n": IntegerType()}
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


@pytest.mark.parametrize("catalog", [jdbc, rest])
def test_a_table_is_kept_in_a_catalog(
    spark: SparkSession,
    tmp_path: Path,
    catalog: Callable[[Path], AbstractContextManager[Mapping[str, str]]],
) -> None:
    with catalog(tmp_path) as settings:
        name = f"lake_{tmp_path.name}"

        def new_session() -> SparkSession:
            """A session with a catalog of its own, as in another process."""
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
        # Another process finds the position, changes the columns and goes on.
        session = new_session()
        table = open_table(session, options, NAME)
        assert progress_of(table).complete == SECOND
        evolve(table, WIDER, 1, frozenset())
        apply(WIDER, THIRD, SECOND, (1, "u", {"k": 1, "n": 1 << 40, "v": "x"}))
        expected = {
            row_id(1): {"k": 1, "n": 1 << 40, "v": "x"},
            **{row_id(key): {"k": key, "n": key, "v": None} for key in (2, 3, 9)},
        }
        assert stored_rows(table.read()) == expected

        assert table.compact()["files_added"] == 1
        table.expire(3600)
        assert progress_of(table).complete == THIRD
        assert stored_rows(table.read()) == expected
        first = next(each.version for each in table.commits() if each.position == FIRST)
        assert set(stored_rows(table.read(first))) == {row_id(key) for key in range(4)}
