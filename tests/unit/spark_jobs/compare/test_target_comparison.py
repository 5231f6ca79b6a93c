"""Typed tables of both formats, compared with the store that fills them."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sidecar.errors import ConfigError
from spark_jobs.compare.progress import WaitBudget
from spark_jobs.compare.report import TargetReport
from spark_jobs.compare.row_difference import ReadTimes
from spark_jobs.compare.target_comparison import TargetComparison
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.tables.format.typed_table import TargetError
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions, TargetOptions
from spark_jobs.tables.target import open_table
from tests.support.node.snapshot_rows import DDL, Cells, row
from tests.support.spark.live_table import a_map, stored, v
from tests.support.spark.options import options_of

BUCKETS = 4
READ_FROM_US = time.time_ns() // 1000
LATER_US = READ_FROM_US + 3_600_000_000


ROWS = [row(k, 1, v=v(k, 100), m=a_map(a=1, b=2)) for k in range(8)]


class Lake:
    """A store, and a typed table that follows the store."""

    def __init__(self, spark: SparkSession, folder: Path, target: TargetOptions) -> None:
        self.spark = spark
        self.folder = folder
        self.target = target
        self.store = VersionStore(spark, str(folder / "store"), buckets=BUCKETS)
        path = folder / "schema.cql"
        path.write_text(DDL)
        self.schema: SourceSchema = read_schema(path)

    def write(self, rows: Sequence[Cells]) -> None:
        self.store.append(stored(self.spark, rows))

    def follow(self) -> None:
        options = {
            "output": str(self.folder / "store"),
            "buckets": str(BUCKETS),
            "checkpoint": str(self.folder / "checkpoint"),
            "schema.file": str(self.schema.path),
            "tables": "ks.t",
            "format": self.target.format,
            "target": self.target.target,
        }
        run_tables(self.spark, options_of(TablesJobOptions, options), stop=threading.Event())

    def comparison(self, store: VersionStore | None = None) -> TargetComparison:
        return TargetComparison(
            self.target,
            self.schema,
            self.schema.table("ks.t"),
            store or self.store,
            buckets=BUCKETS,
            place=str(self.folder / "found"),
            describe=lambda _: nullcontext(),
        )

    def compare(self, wait: WaitBudget | None = None) -> TargetReport:
        reads = ReadTimes(READ_FROM_US, READ_FROM_US + 5_000_000)
        budget = wait or WaitBudget(0)
        return self.comparison().report(self.store.version(), reads, budget, rows=10)

    @property
    def name(self) -> str:
        """The SQL name of the typed table."""
        return open_table(self.spark, self.target, "ks.t").sql_name

    def execute(self, statement: str) -> None:
        self.spark.sql(statement)


class Following(WaitBudget):
    """The typed table follows while the comparison waits."""

    def __init__(self, lake: Lake) -> None:
        super().__init__(60, pause=lambda _: lake.follow())
        self.reports: list[TargetReport] = []

    def until(self, observe: Callable[[], Any], is_done: Callable[[Any], bool]) -> Any:
        def observed() -> TargetReport:
            self.reports.append(observe())
            return self.reports[-1]

        return super().until(observed, is_done)


def found(report: TargetReport) -> dict[str, tuple[str, str]]:
    assert sum(report.found.causes.values()) == len(report.found.rows)
    return {each.key: (str(each.cause), each.columns) for each in report.found.rows}


def new_lake(spark: SparkSession, folder: Path, table_format: str) -> Lake:
    target = "lake.compared" if table_format == "iceberg" else str(folder / "tables")
    options = options_of(TargetOptions, {"format": table_format, "target": target})
    return Lake(spark.newSession(), folder, options)


@pytest.mark.parametrize("table_format", [pytest.param("delta", marks=pytest.mark.slow), "iceberg"])
def test_each_fault_of_typed_table_is_reported(
    spark: SparkSession, tmp_path: Path, table_format: str
) -> None:
    lake = new_lake(spark, tmp_path, table_format)
    lake.write(ROWS)
    lake.follow()
    name = lake.name
    lake.execute(f"DELETE FROM {name} WHERE k = 2")
    lake.execute(f"UPDATE {name} SET v = NULL, m = NULL WHERE k = 3")
    lake.execute(f"INSERT INTO {name} SELECT * FROM {name} WHERE k = 4")
    rows = lake.spark.table(name).where("k = 5").withColumn("k", F.lit(50))
    rows.withColumn("cdc_row_id", F.unhex(F.lit("00" * 16))).writeTo(name).append()
    report = lake.compare()
    assert report.found.verdict == "differs"
    assert found(report) == {
        '{"k":2,"c":1}': ("missing_row", ""),
        '{"k":3,"c":1}': ("other_value", "m, v"),
        '{"k":4,"c":1}': ("repeated_row", ""),
        '{"k":50,"c":1}': ("extra_row", ""),
    }
    assert report.typed_rows == len(ROWS) + 1


@pytest.mark.slow
def test_writes_after_typed_table_position_are_no_faults(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = new_lake(spark, tmp_path, "delta")
    lake.write(ROWS)
    with pytest.raises(ConfigError, match="does not exist"):
        lake.comparison()
    lake.follow()
    lake.write([row(0, 1, v=v(9, 200)), row(1, 1, v=v(9, LATER_US))])
    budget = Following(lake)
    waited = lake.compare(budget)
    assert budget.reports[0].found.verdict == "not_there_yet"
    assert found(budget.reports[0]) == {
        '{"k":0,"c":1}': ("not_there_yet", "op u, written at 200"),
        '{"k":1,"c":1}': ("written_after", f"op u, written at {LATER_US}"),
    }
    assert (waited.found.verdict, waited.typed_rows, found(waited)) == ("equal", len(ROWS), {})

    other = VersionStore(lake.spark, str(tmp_path / "other"), buckets=BUCKETS)
    with pytest.raises(TargetError, match="another store"):
        lake.comparison(other)
