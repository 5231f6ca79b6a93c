"""The Spark jobs on the topics of a cluster, and their results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.changes.job import run as run_changes
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.dedupe.job import run as run_dedupe
from spark_jobs.dedupe.options import DedupeJobOptions, IdentityName
from spark_jobs.dedupe.stats import RunStats
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.tables.target import open_table, read_table
from tests.integration.spark.golden.cluster_harness import PREFIX
from tests.integration.spark.golden.events import DedupedRow
from tests.integration.spark.golden.selected import Selected
from tests.integration.spark.golden.tables import wrong_cells, wrong_values
from tests.support.spark.forms import visible_rows
from tests.support.spark.options import options_of


class Jobs:
    """The jobs on the topics of a cluster, with their tables in a folder."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        bootstrap: str,
        *,
        micro_batch: int = 1000,
        counter_tables: str = "",
        prefix: str = PREFIX,
    ) -> None:
        """`micro_batch` is a number of records, `prefix` starts the topics. The folder must contain
        `schema` before a run."""
        self._spark = spark
        self._folder = folder
        self.schema = folder / "schema.cql"
        self._common = {
            "kafka.bootstrap.servers": bootstrap,
            "topics.pattern": f"{prefix}\\..*",
            "max.offsets.per.trigger": str(micro_batch),
        }
        self.store_settings = {
            "output": str(folder / "versions"),
            "buckets": "2",
            "schema.file": str(self.schema),
            "counter.tables": counter_tables,
        }
        """The options that open the version store."""

    def dedupe(self, identity: IdentityName = "event", **settings: str) -> RunStats:
        """Process all records in the topics, with further settings by name."""
        options = {
            **self._common,
            "identity": identity,
            "checkpoint": str(self._folder / f"dedupe-{identity}-checkpoint"),
            "sink.delta.path": str(self._kept(identity)),
            **settings,
        }
        return run_dedupe(self._spark, options_of(DedupeJobOptions, options))

    def reconcile(self, **settings: str) -> None:
        """Process all records in the topics, with further settings by name."""
        run_reconcile(self._spark, self._reconcile_options(**settings))

    def store(self) -> VersionStore:
        """The version store of reconcile."""
        return open_store(self._spark, self._reconcile_options())

    def events(self, identity: IdentityName = "event") -> list[DedupedRow]:
        """The rows of the table of dedupe."""
        rows = self._spark.read.format("delta").load(str(self._kept(identity)))
        found = rows.select("topic", "partition", "offset", "id", "key", "value").collect()
        return [
            DedupedRow((r[0], r[1], r[2]), bytes(r[3]), _bytes(r[4]), _bytes(r[5])) for r in found
        ]

    def wrong_tables(self, selected: list[Selected], now_s: int) -> list[str]:
        """Differences between tables and selected rows."""
        source = read_schema(self.schema)
        store = self.store()
        problems: list[str] = []
        for each in selected:
            table = source.table(each.name)
            problems += wrong_cells(each, visible_rows(store, source, table, now_s).collect())
            problems += wrong_values(each, table_at(store, source, table, now_s))
        return problems

    def truncate(self, table: str, ts_us: int) -> None:
        """Record a TRUNCATE of `keyspace.table`."""
        self.store().truncate(read_schema(self.schema).table(table).id, ts_us)

    def _kept(self, identity: IdentityName) -> Path:
        return self._folder / f"events-by-{identity}"

    def reconcile_settings(self) -> dict[str, str]:
        """The options of reconcile by name."""
        return {
            **self._common,
            **self.store_settings,
            "checkpoint": str(self._folder / "reconcile-checkpoint"),
            # Readers then find merged states as well as events.
            "compact.after.files": "4",
        }

    def _reconcile_options(self, **settings: str) -> ReconcileOptions:
        return options_of(ReconcileOptions, {**self.reconcile_settings(), **settings})


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


FORMATS = ("delta", "iceberg")
CHANGES_PREFIX = "changes"
"""Prefix of the topics of changes."""


class FollowJobs:
    """The jobs on a version store, with their targets in a folder and in Spark's catalog `lake`."""

    def __init__(
        self, spark: SparkSession, folder: Path, store: Mapping[str, str], bootstrap: str
    ) -> None:
        """`store` contains the options that open the version store."""
        self._spark = spark
        self._folder = folder
        self._store = store
        self._bootstrap = bootstrap

    def tables(self, table_format: str, names: Sequence[str], second: int) -> None:
        """Update the typed tables of these source tables to the state of the store at a second."""
        options = self._tables_options(table_format, names)
        run_tables(self._spark, options, stop=Event(), clock=lambda: second)

    def changes(self, names: Sequence[str], second: int) -> None:
        """Publish the changes of these tables up to the state of the store at a second."""
        options = self._options("changes", names) | {
            "kafka.bootstrap.servers": self._bootstrap,
            "topic.prefix": CHANGES_PREFIX,
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
        """Published changes, as in the Delta table."""
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
    return f"{CHANGES_PREFIX}.{name}"
