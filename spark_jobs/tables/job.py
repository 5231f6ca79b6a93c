"""The job: keeps typed tables up to date, and fills the version store if topics are named."""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from sidecar.logs import fields
from spark_jobs.follow import Follower
from spark_jobs.follow.job import run_follower
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import stop_on_signals
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable, read_schema
from spark_jobs.reconcile.visible_rows import merger_of, typed_row
from spark_jobs.session import create_job_session, isolated_session
from spark_jobs.tables.handler import TypedTables
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.terminal import Show, no_line, progress_line

logger = logging.getLogger(__name__)
JOB = "tables"


def main(options: TablesJobOptions) -> JobReport:
    """Run in a new session; the report has the number of batches."""
    # Before Spark starts, so that an invalid schema is reported at once.
    select_tables(read_schema(options.schema_file), options.tables, options.counter_tables)
    with (
        create_job_session(f"cdc-{JOB}", options) as session,
        stop_on_signals() as stop,
        progress_line(JOB) as show,
    ):
        batches = run(session, options, stop=stop, show=show)
        return JobReport(f"{batches} batches applied", {"batches": batches})


def run(
    session: SparkSession,
    options: TablesJobOptions,
    *,
    stop: threading.Event,
    show: Show = no_line,
    clock: Callable[[], float] = time.time,
) -> int:
    """Run until the trigger ends or `stop` is set. Returns the number of applied batches.

    Values expire by `clock`.

    Raises `ConfigError`, `TargetError`, `ColumnChangeError`, `InputError`, or an exception of
    Spark.
    """
    schema = read_schema(options.schema_file)
    selected = select_tables(schema, options.tables, options.counter_tables)
    session = isolated_session(session, options.state_partitions)
    # CQL's quoted names may differ in case alone.
    session.conf.set("spark.sql.caseSensitive", "true")
    store = open_store(session, options)
    handler = TypedTables(session, options, store.id, partial(_typed_columns, schema))
    follower = Follower(store, schema, selected.tables, options.folder, handler, clock=clock)
    logger.info("tables started", extra=fields(output=options.output, target=options.target))
    return run_follower(session, options, follower, job=JOB, stop=stop, show=show)


def _typed_columns(schema: SourceSchema, table: SourceTable) -> StructType:
    return typed_row(merger_of(schema, table))
