"""Runs a follower as a job: fills the store if topics are named, and reports what was applied."""

import threading

from prometheus_client import CollectorRegistry
from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs import metrics_files
from spark_jobs.errors import JobError
from spark_jobs.follow.follower import Follower
from spark_jobs.follow.stats import add_metrics, summary
from spark_jobs.reconcile.job import run as run_reconcile
from spark_jobs.reconcile.options import ReconcileOptions
from spark_jobs.reconcile.stats import RunStats, registry_of
from spark_jobs.terminal import Show


def run_follower(
    session: SparkSession,
    options: ReconcileOptions,
    follower: Follower,
    *,
    job: str,
    stop: threading.Event,
    show: Show,
) -> int:
    """Follow the store until the trigger ends or `stop` is set. Returns the number of applied
    batches.

    Fills the store if the options name topics; otherwise another job does. `job` names the job in
    its metrics. Raises what `spark_jobs.reconcile.job.run` raises, and at the end `ConfigError`
    or `JobError` if some of the tables could not be followed.
    """

    def report(store: RunStats | None, has_failed: bool) -> None:
        registry = CollectorRegistry() if store is None else registry_of(store)
        add_metrics(registry, job, follower.stats)
        tables = {name: stats.as_json() for name, stats in follower.stats.items()}
        metrics_files.write(
            options,
            {**({} if store is None else store.as_json()), "tables": tables},
            registry,
            job=job,
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
        reasons = (f"{name}: {error}" for name, error in rejected.items())
        raise JobError("Some tables could not be followed. " + " ".join(reasons))
    return sum(stats.batches for stats in follower.stats.values())
