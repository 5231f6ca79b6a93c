"""The demo's jobs: the golden test's jobs, and `tables`, which runs while the shop writes."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.follow import Position, changes_between
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.tables import read_table
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from tests.integration.spark.golden.jobs import Jobs
from tests.integration.spark.golden.selected import Selected
from tests.integration.spark.golden.tables import wrong_values
from tests.support.spark.options import options_of


class DemoJobs(Jobs):
    """Runs the jobs in one session; results are in `folder`."""

    def __init__(
        self, spark: SparkSession, folder: Path, bootstrap: str, *, micro_batch: int
    ) -> None:
        super().__init__(spark, folder, bootstrap, micro_batch=micro_batch)
        self._target = folder / "tables"
        self.report = folder / "tables.json"
        """The file that contains the latest report of the job `tables`."""

    def tables(self) -> None:
        """Process all records in the topics as `reconcile` does, and update the typed tables."""
        self._run_tables("available-now", threading.Event())

    @contextmanager
    def kept_tables(self) -> Iterator[None]:
        """Keep the typed tables up to date while the block runs."""
        stop = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._run_tables, "processing-time", stop)
            try:
                yield
            finally:
                stop.set()
                # Also after an error in the block: an error of the job may be its cause.
                running.result()

    def typed(self, table: str) -> DataFrame:
        """The typed table `keyspace.table`, with `cdc_row_id`."""
        return read_table(self._spark, self._tables_options("available-now"), table)

    def position(self) -> Position:
        """The latest version of the store, at the current time."""
        return Position(self.store().version(), int(time.time()))

    def changes(self, table: str, before: Position) -> DataFrame:
        """The changes of `keyspace.table` from a position until now."""
        source = read_schema(self.schema)
        found = changes_between(
            self.store(), source, source.table(table), before, self.position(), each=True
        )
        return found.where("op IS NOT NULL")

    def wrong_typed_tables(self, selected: list[Selected]) -> list[str]:
        """Describe the differences between typed tables and selected rows."""
        return [
            problem
            for each in selected
            for problem in wrong_values(each, self.typed(each.name).drop("cdc_row_id"))
        ]

    def _run_tables(self, trigger: str, stop: threading.Event) -> None:
        run_tables(self._spark, self._tables_options(trigger), stop=stop)

    def _tables_options(self, trigger: str) -> TablesJobOptions:
        options = {
            **self.reconcile_settings(),
            "target": str(self._target),
            "trigger": trigger,
            "trigger.interval.ms": "1000",
            "metrics.json.file": str(self.report),
        }
        return options_of(TablesJobOptions, options)
