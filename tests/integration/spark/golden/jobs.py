"""The Spark jobs on the topics of a cluster, and their results."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.dedupe.job import run as run_dedupe
from spark_jobs.dedupe.options import DedupeJobOptions, IdentityName
from spark_jobs.dedupe.stats import RunStats
from spark_jobs.follow import Position, changes_between
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.visible_rows import table_at, visible_rows
from spark_jobs.tables import read_table
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from tests.integration.spark.golden.cluster_harness import PREFIX
from tests.integration.spark.golden.events import DedupedRow
from tests.integration.spark.golden.selected import Selected
from tests.integration.spark.golden.tables import wrong_cells, wrong_values
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
    ) -> None:
        """`micro_batch` is in records. The folder must contain `schema` before a run."""
        self._spark = spark
        self._folder = folder
        self.schema = folder / "schema.cql"
        self.report = folder / "tables.json"
        """What the job `tables` reports while it runs."""
        self._common = {
            "kafka.bootstrap.servers": bootstrap,
            "topics.pattern": f"{PREFIX}\\..*",
            "max.offsets.per.trigger": str(micro_batch),
        }
        self._counter_tables = counter_tables

    def dedupe(self, identity: IdentityName = "event") -> RunStats:
        """Process all records in the topics."""
        options = {
            **self._common,
            "identity": identity,
            "checkpoint": str(self._folder / f"dedupe-{identity}-checkpoint"),
            "sink.delta.path": str(self._kept(identity)),
        }
        return run_dedupe(self._spark, options_of(DedupeJobOptions, options))

    def reconcile(self) -> None:
        """Process all records in the topics."""
        run_reconcile(self._spark, self._reconcile_options())

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
                # Also after an error of the block: that of the job may be its cause.
                running.result()

    def typed(self, table: str) -> DataFrame:
        """The typed table `keyspace.table`, with `cdc_row_id`."""
        return read_table(self._spark, self._tables_options("available-now"), table)

    def position(self) -> Position:
        """The latest version of the store, now."""
        store = open_store(self._spark, self._reconcile_options())
        return Position(store.version(), int(time.time()))

    def changes(self, table: str, before: Position) -> DataFrame:
        """The changes of `keyspace.table` from a position until now."""
        source = read_schema(self.schema)
        store = open_store(self._spark, self._reconcile_options())
        after = self.position()
        found = changes_between(store, source, source.table(table), before, after, each=True)
        return found.where("op IS NOT NULL")

    def events(self, identity: IdentityName = "event") -> list[DedupedRow]:
        """The rows of the table of dedupe."""
        rows = self._spark.read.format("delta").load(str(self._kept(identity)))
        found = rows.select("topic", "partition", "offset", "id", "key", "value").collect()
        return [
            DedupedRow((r[0], r[1], r[2]), bytes(r[3]), _bytes(r[4]), _bytes(r[5])) for r in found
        ]

    def view(self, table: str, now_s: int) -> DataFrame:
        """The table `keyspace.table` as `SELECT *` shows it at a second."""
        source = read_schema(self.schema)
        store = open_store(self._spark, self._reconcile_options())
        return table_at(store, source, source.table(table), now_s)

    def wrong_tables(self, selected: list[Selected], now_s: int) -> list[str]:
        """Differences between tables and selected rows."""
        source = read_schema(self.schema)
        store = open_store(self._spark, self._reconcile_options())
        problems: list[str] = []
        for each in selected:
            table = source.table(each.name)
            problems += wrong_cells(each, visible_rows(store, source, table, now_s).collect())
            problems += wrong_values(each, table_at(store, source, table, now_s))
        return problems

    def wrong_typed_tables(self, selected: list[Selected]) -> list[str]:
        """Differences between typed tables and selected rows."""
        return [
            problem
            for each in selected
            for problem in wrong_values(each, self.typed(each.name).drop("cdc_row_id"))
        ]

    def _run_tables(self, trigger: str, stop: threading.Event) -> None:
        run_tables(self._spark, self._tables_options(trigger), stop=stop)

    def _kept(self, identity: IdentityName) -> Path:
        return self._folder / f"events-by-{identity}"

    @property
    def store_settings(self) -> dict[str, str]:
        """The options that open the version store."""
        return {
            "output": str(self._folder / "versions"),
            "buckets": "2",
            "schema.file": str(self.schema),
            "counter.tables": self._counter_tables,
        }

    def truncate(self, table: str, ts_us: int) -> None:
        """Record a TRUNCATE of `keyspace.table`."""
        store = open_store(self._spark, self._reconcile_options())
        store.truncate(read_schema(self.schema).table(table).id, ts_us)

    def _tables_options(self, trigger: str) -> TablesJobOptions:
        options = {
            **self._ingest_settings(),
            "target": str(self._folder / "tables"),
            "trigger": trigger,
            "trigger.interval.ms": "1000",
            "metrics.json.file": str(self.report),
        }
        return options_of(TablesJobOptions, options)

    def _reconcile_options(self) -> ReconcileOptions:
        return options_of(ReconcileOptions, self._ingest_settings())

    def _ingest_settings(self) -> dict[str, str]:
        return {
            **self._common,
            **self.store_settings,
            "checkpoint": str(self._folder / "reconcile-checkpoint"),
            # So that readers find merged states as well as events.
            "compact.after.files": "4",
        }


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)
