"""The job: events of Kafka topics into versions, micro-batch by micro-batch."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sidecar.logs import fields
from spark_jobs.checkpoint import JobIdentity, claim
from spark_jobs.options import StreamOptions
from spark_jobs.progress import follow, stopping_on_signals
from spark_jobs.reconcile.copies import READ
from spark_jobs.reconcile.figures import Figures, write
from spark_jobs.reconcile.layout import AppendLayout, Batch, Layout, MergeLayout
from spark_jobs.reconcile.options import ReconcileOptions, TableOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.tables import KeptTables, kept_tables
from spark_jobs.session import create_session, session_of_job
from spark_jobs.source import events, read_stream

logger = logging.getLogger(__name__)
JOB = "reconcile"
_LAYOUTS: dict[str, type[AppendLayout] | type[MergeLayout]] = {
    "append": AppendLayout,
    "merge": MergeLayout,
}


def open_layout(session: SparkSession, options: TableOptions) -> Layout:
    """The versions at `output`, which are made when there are none."""
    return _LAYOUTS[options.layout](
        session,
        options.output,
        buckets=options.buckets,
        max_loose_files=options.compact_after_files,
    )


def reconcile(
    records: DataFrame, layout: Layout, tables: KeptTables, buckets: int, batch: Batch | None = None
) -> None:
    """Take in the events of a DataFrame that is no stream, in whatever order and however often.

    `records` has `value`, and for messages `topic`, `partition` and `offset`."""
    layout.take(tables.events(records, buckets), batch)


def main(options: ReconcileOptions) -> None:
    """Run in a session of its own and print the summary."""
    # Before Spark starts: a schema that cannot be read is reported at once.
    kept_tables(read_schema(options.schema_file), options.tables, options.counter_tables)
    session = create_session(
        f"cdc-{JOB}", settings=options.spark_settings(), jars=options.jars_directory
    )
    try:
        with stopping_on_signals() as stop:
            print(run(session, options, stop=stop))
    finally:
        session.stop()


def run(
    session: SparkSession, options: ReconcileOptions, *, stop: threading.Event | None = None
) -> Figures:
    """Run to the end of the trigger, or until `stop` is set.

    Raises `ConfigError`, `CheckpointError`, `InputError`, or what Spark raises.
    """
    schema = read_schema(options.schema_file)
    tables = kept_tables(schema, options.tables, options.counter_tables)
    session = session_of_job(session, options.state_partitions)
    fixed = {"output": options.output, "layout": options.layout, "buckets": str(options.buckets)}
    identity = JobIdentity(JOB, options.subscription(), fixed)
    claimed = claim(session, options.checkpoint, identity)
    records = read_stream(session, options, is_limited=options.trigger != "once")
    following = Following(open_layout(session, options), tables, options.buckets, claimed.id)
    # A micro-batch holds every column that it is given, asked for or not.
    return following.run(events(records).select(*READ), options, stop=stop)


class Following:
    """A stream of events, taken in by a layout.

    What is taken in is durable before Spark calls it done; what Spark gives again after a crash is
    known by its number, and would change nothing.
    """

    def __init__(self, layout: Layout, tables: KeptTables, buckets: int, app: str) -> None:
        self._layout = layout
        self._tables = tables
        self._buckets = buckets
        self._app = app
        self._figures = Figures()

    def run(
        self, stream: DataFrame, options: StreamOptions, *, stop: threading.Event | None = None
    ) -> Figures:
        """What is in the stream, by the trigger of the options. Raises as `run` does."""
        query = (
            stream.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", options.checkpoint)
            .trigger(**options.trigger_arguments())
            .queryName(JOB)
            .start()
        )
        logger.info("reconcile runs", extra=fields(checkpoint=options.checkpoint))

        def after(progress: Mapping[str, Any]) -> None:
            self._figures = self._figures.after(progress)
            write(self._figures, options)

        follow(query, after, stop=stop)
        return self._figures

    def _take(self, frame: DataFrame, number: int) -> None:
        reconcile(frame, self._layout, self._tables, self._buckets, Batch(self._app, number))
        # In one process with the appends, so that the two never meet.
        compacted = self._layout.compact()
        if compacted:
            logger.info("compacted", extra=fields(batch=number, buckets=compacted))
            total = self._figures.compacted_buckets + compacted
            self._figures = replace(self._figures, compacted_buckets=total)
