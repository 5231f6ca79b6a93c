"""The job: keeps typed tables up to date, and fills the version store if topics are named."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs.follow.job import run_follower
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import start_job
from spark_jobs.reconcile.selected_tables import read_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merger_of, typed_row
from spark_jobs.tables.handler import TypedTables
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.terminal import Show, no_line

logger = logging.getLogger(__name__)


def main(options: TablesJobOptions) -> JobReport:
    """Run in a new session; the report has the number of batches."""
    # Before Spark starts, so that an invalid schema is reported at once.
    read_tables(options)
    with start_job(options.job, options) as job:
        batches = run(job.session, options, stop=job.stop, show=job.show)
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

    def open_target(
        store: VersionStore, schema: SourceSchema, _: Sequence[SourceTable]
    ) -> TypedTables:
        logger.info("tables started", extra=fields(output=options.output, target=options.target))
        return TypedTables(
            store.session, options, store.id, lambda table: typed_row(merger_of(schema, table))
        )

    return run_follower(session, options, open_target, stop=stop, show=show, clock=clock)
