"""The job: writes the events of Kafka topics as versions, one micro-batch after the other."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sidecar.logs import fields
from spark_jobs.checkpoint_owner import CheckpointOwner, acquire_checkpoint
from spark_jobs.metrics_files import final_report
from spark_jobs.options.command_line import JobReport
from spark_jobs.options.stream import StreamOptions
from spark_jobs.progress import follow, start_query, stop_on_signals
from spark_jobs.reconcile.layout.append import AppendLayout
from spark_jobs.reconcile.layout.merge import MergeLayout
from spark_jobs.reconcile.layout.protocol import Batch, Layout
from spark_jobs.reconcile.options import ReconcileOptions, TableOptions
from spark_jobs.reconcile.replica_copies import READ
from spark_jobs.reconcile.selected_tables import SelectedTables, select_tables
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.stats import RunStats, write
from spark_jobs.session import create_job_session, isolated_session
from spark_jobs.source.events import events
from spark_jobs.source.kafka import read_stream

logger = logging.getLogger(__name__)
JOB = "reconcile"
_LAYOUTS: dict[str, type[AppendLayout] | type[MergeLayout]] = {
    "append": AppendLayout,
    "merge": MergeLayout,
}


def open_layout(session: SparkSession, options: TableOptions) -> Layout:
    """Open the stored versions at `output`, or create them."""
    return _LAYOUTS[options.layout](
        session,
        options.output,
        buckets=options.buckets,
        max_uncompacted_files=options.compact_after_files,
    )


def reconcile(
    records: DataFrame,
    layout: Layout,
    tables: SelectedTables,
    buckets: int,
    batch: Batch | None = None,
) -> None:
    """Write the events of a batch DataFrame. Order and repetitions do not matter.

    `records` has a column `value`. Error messages also use `topic`, `partition` and `offset`.
    """
    layout.write_events(tables.events(records, buckets), batch)


def main(options: ReconcileOptions) -> JobReport:
    """Run in a new session; the report has the summary."""
    # Before Spark starts, so that an invalid schema is reported at once.
    select_tables(read_schema(options.schema_file), options.tables, options.counter_tables)
    with create_job_session(f"cdc-{JOB}", options) as session, stop_on_signals() as stop:
        stats = run(session, options, stop=stop)
        return JobReport(str(stats), asdict(stats))


def run(
    session: SparkSession, options: ReconcileOptions, *, stop: threading.Event | None = None
) -> RunStats:
    """Run until the trigger ends or `stop` is set.

    Raises `ConfigError`, `CheckpointError`, `InputError`, or an exception of Spark.
    """
    schema = read_schema(options.schema_file)
    tables = select_tables(schema, options.tables, options.counter_tables)
    session = isolated_session(session, options.state_partitions)
    fixed = {"output": options.output, "layout": options.layout, "buckets": str(options.buckets)}
    owner = CheckpointOwner(JOB, options.subscription(), fixed)
    checkpoint = acquire_checkpoint(session, options.checkpoint, owner)
    records = read_stream(session, options, is_limited=options.trigger != "once")
    job = StreamingReconcile(open_layout(session, options), tables, options.buckets, checkpoint.id)
    # Spark computes every column of a micro-batch, even if it is not used.
    return job.run(events(records).select(*READ), options, stop=stop)


class StreamingReconcile:
    """Writes a stream of events to a layout.

    A micro-batch is durable before Spark commits it. After a crash Spark may repeat the batch; the
    layout skips it by its number.
    """

    def __init__(self, layout: Layout, tables: SelectedTables, buckets: int, app: str) -> None:
        self._layout = layout
        self._tables = tables
        self._buckets = buckets
        self._app = app
        self._stats = RunStats()

    def run(
        self, stream: DataFrame, options: StreamOptions, *, stop: threading.Event | None = None
    ) -> RunStats:
        """Process the stream until its trigger ends or `stop` is set. Raises as `run` does."""
        query = start_query(stream.writeStream.foreachBatch(self._write), JOB, options)
        logger.info("reconcile started", extra=fields(checkpoint=options.checkpoint))

        def on_progress(progress: Mapping[str, Any]) -> None:
            self._stats = self._stats.plus(progress)
            write(self._stats, options)

        with final_report(lambda failed: write(self._stats, options, has_failed=failed)):
            follow(query, on_progress, stop=stop)
        return self._stats

    def _write(self, frame: DataFrame, number: int) -> None:
        reconcile(frame, self._layout, self._tables, self._buckets, Batch(self._app, number))
        # In the same thread as the writes, so compaction never conflicts with them.
        compacted = self._layout.compact()
        if compacted:
            logger.info("buckets compacted", extra=fields(batch=number, buckets=compacted))
            total = self._stats.compacted_buckets + compacted
            self._stats = replace(self._stats, compacted_buckets=total)
