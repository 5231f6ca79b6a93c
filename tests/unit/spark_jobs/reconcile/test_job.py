"""The streaming job: micro-batches, and a crash between two micro-batches."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.options.job import StreamOptions
from spark_jobs.reconcile.job import StreamingReconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import Batch, VersionStore
from spark_jobs.source.events import events
from tests.oracle.reference.recordings import OWN
from tests.support.spark.forms import expected, shown
from tests.support.spark.recorded import algebra_of, of_busiest_tables, three_copies
from tests.support.spark.records import RecordStream

RECORDING = "5.0/three-nodes"
SCHEMA = OWN / RECORDING / "node1" / "schema.cql"
TABLES = 1
BATCHES = 3
LATER_S = 4_000_000_000


class CrashError(Exception):
    """Simulates the end of the process."""


class CrashingStore(VersionStore):
    """A store that crashes once, after writing a micro-batch."""

    crashes_in = 1

    def append(self, events: DataFrame, batch: Batch | None = None) -> None:
        super().append(events, batch)
        if batch is not None and batch.number == self.crashes_in:
            self.crashes_in = -1
            raise CrashError(f"in micro-batch {batch.number}")


def test_reconcile_is_right_after_crash_during_run(spark: SparkSession, tmp_path: Path) -> None:
    """Spark repeats a micro-batch whose events are already stored."""
    schema = read_schema(SCHEMA)
    records = of_busiest_tables(three_copies([RECORDING]), TABLES)
    tables = algebra_of(records)
    stream = RecordStream(spark, tmp_path / "topic")
    for number in range(BATCHES):
        stream.add(records[number::BATCHES])
    store = CrashingStore(spark, str(tmp_path / "table"), buckets=1, max_uncompacted_files=1)
    options = StreamOptions(
        checkpoint=str(tmp_path / "checkpoint"),
        metrics_json_file=tmp_path / "stats.json",
        metrics_prometheus_file=tmp_path / "stats.prom",
    )

    def job() -> StreamingReconcile:
        return StreamingReconcile(store, schema, select_tables(schema), "job")

    with pytest.raises(Exception, match="in micro-batch 1"):
        job().run(events(stream.read()), options)
    failed = 'cdc_spark_run_failed{spark_job="reconcile"}'
    assert f"{failed} 1.0" in (tmp_path / "stats.prom").read_text().splitlines()
    stats = job().run(events(stream.read()), options)
    # The job does not even read the repeated batch.
    assert stats.micro_batches == 1
    assert stats.records == len(records[2::BATCHES])
    assert stats.compacted_buckets > 0
    assert json.loads((tmp_path / "stats.json").read_text())["records"] == stats.records
    lines = (tmp_path / "stats.prom").read_text().splitlines()
    assert "cdc_reconcile_micro_batches_total 1.0" in lines
    assert f"{failed} 0.0" in lines
    assert f"cdc_store_rows {store.size().rows}.0" in lines
    assert shown(store, schema, LATER_S, tables.by_id) == expected(tables, LATER_S)
