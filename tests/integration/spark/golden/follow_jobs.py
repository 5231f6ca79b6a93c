"""The jobs that follow the version store: typed tables in both formats, and changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.changes.job import run as run_changes
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.tables.target import open_table, read_table
from tests.support.spark.options import options_of

FORMATS = ("delta", "iceberg")
PREFIX = "changes"
"""Of the topics of changes."""


class FollowJobs:
    """The jobs on a version store, with their targets in a folder and in Spark's catalog `lake`."""

    def __init__(
        self, spark: SparkSession, folder: Path, store: Mapping[str, str], bootstrap: str
    ) -> None:
        """`store` has the options that open the version store."""
        self._spark = spark
        self._folder = folder
        self._store = store
        self._bootstrap = bootstrap

    def tables(self, table_format: str, names: Sequence[str], second: int) -> None:
        """Bring the typed tables of these source tables up to the store, at a second."""
        options = self._tables_options(table_format, names)
        run_tables(self._spark, options, stop=Event(), clock=lambda: second)

    def changes(self, names: Sequence[str], second: int) -> None:
        """Publish the changes of these tables up to the store, at a second."""
        options = self._options("changes", names) | {
            "kafka.bootstrap.servers": self._bootstrap,
            "topic.prefix": PREFIX,
            "sink": "kafka,delta",
            "changes.table": f"{self._folder}/changes/{{keyspace}}/{{table}}",
        }
        run_changes(
            self._spark, options_of(ChangesJobOptions, options), stop=Event(), clock=lambda: second
        )

    def version(self, table_format: str, name: str) -> int:
        """The newest version of Delta or snapshot of Iceberg."""
        table = open_table(self._spark, self._tables_options(table_format, [name]), name)
        return table.commits()[0].version

    def typed(self, table_format: str, name: str, version: int | None = None) -> DataFrame:
        """The typed table, also of an earlier version."""
        options = self._tables_options(table_format, [name])
        return read_table(self._spark, options, name, version)

    def changed(self, name: str) -> DataFrame:
        """The published changes, as the Delta table has them."""
        path = self._folder.joinpath("changes", *name.split("."))
        return self._spark.read.format("delta").load(str(path))

    def _tables_options(self, table_format: str, names: Sequence[str]) -> TablesJobOptions:
        target = str(self._folder / "tables") if table_format == "delta" else "lake.golden"
        options = {
            **self._options(f"tables-{table_format}", names),
            "format": table_format,
            "target": target,
        }
        return options_of(TablesJobOptions, options)

    def _options(self, job: str, names: Sequence[str]) -> dict[str, str]:
        return {
            **self._store,
            "checkpoint": str(self._folder / f"{job}-checkpoint"),
            "tables": ",".join(names),
        }


def topic_of(name: str) -> str:
    """The topic of the changes of `keyspace.table`."""
    return f"{PREFIX}.{name}"
