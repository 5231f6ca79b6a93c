"""Runs a follower as a job: fills the store if a source is configured, and reports progress."""

import threading
import time
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs import metrics_files
from spark_jobs.errors import JobError, reason_text
from spark_jobs.follow.follower import Follower
from spark_jobs.follow.handler import ChangeHandler
from spark_jobs.follow.stats import add_metrics, summary
from spark_jobs.progress import Show, no_line
from spark_jobs.reconcile.job import RunStats, open_store, registry_of
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import FollowOptions
from spark_jobs.reconcile.selected_tables import read_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.session import isolate_session

OpenTarget = Callable[[VersionStore, SourceSchema, Sequence[SourceTable]], ChangeHandler]
"""Opens the target of a job for some tables of a store."""


def run_follower(
    session: SparkSession,
    options: FollowOptions,
    open_target: OpenTarget,
    *,
    stop: threading.Event,
    show: Show = no_line,
    clock: Callable[[], float] = time.time,
) -> int:
    """Follow the store until the trigger ends or `stop` is set. Returns the number of applied
    batches.

    Opens the store, and then the target of the job. `clock` determines which values have expired.
    Raises the errors of `open_target`, `Follower` and `follow_store`.
    """
    schema, selected = read_tables(options)
    session = isolate_session(session, options.state_partitions)
    # Quoted names in CQL may differ only in case.
    session.conf.set("spark.sql.caseSensitive", "true")
    store = open_store(session, options)
    handler = open_target(store, schema, selected.tables)
    follower = Follower(store, schema, selected.tables, options.folder, handler, clock=clock)
    return follow_store(session, options, follower, stop=stop, show=show)


def follow_store(
    session: SparkSession,
    options: FollowOptions,
    follower: Follower,
    *,
    stop: threading.Event,
    show: Show,
) -> int:
    """Let a follower apply changes until the trigger ends or `stop` is set. Returns the number of
    applied batches.

    Fills the store if the options define a source; otherwise another job fills it. Raises the
    errors of `spark_jobs.reconcile.job.run`, and at the end `ConfigError` or `JobError` if some
    tables could not be followed.
    """

    def report(store: RunStats | None, has_failed: bool) -> None:
        registry = CollectorRegistry() if store is None else registry_of(store)
        add_metrics(registry, options.job, follower.stats)
        tables = {name: stats.as_json() for name, stats in follower.stats.items()}
        metrics_files.write(
            options,
            {**({} if store is None else store.as_json()), "tables": tables},
            registry,
            job=options.job,
            last=None if store is None else store.last,
            has_failed=has_failed or bool(follower.rejected),
        )
        text = summary(follower.stats)
        if follower.rejected:
            text += f"; rejected: {', '.join(follower.rejected)}"
        show(text if store is None else f"{store}; {text}")

    if options.has_source:
        run_reconcile(session, options, tick=follower.step, report=report, stop=stop)
    else:
        with metrics_files.final_report(lambda failed: report(None, failed)):
            follower.step()
            while options.trigger == "processing-time" and not stop.is_set():
                report(None, has_failed=False)
                stop.wait(options.trigger_interval_ms / 1000)
                follower.step()
    if rejected := follower.rejected:
        if all(isinstance(error, ConfigError) for error in rejected.values()):
            raise ConfigError(*map(str, rejected.values()))
        reasons = (f"{name}: {reason_text(error)}" for name, error in rejected.items())
        raise JobError("Some tables could not be followed. " + " ".join(reasons))
    return sum(stats.batches for stats in follower.stats.values())
