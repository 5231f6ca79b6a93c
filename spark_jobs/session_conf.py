"""Applies session settings and descriptions of Spark jobs while a block runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

SMALL_BATCH = 10_000
_PARTITIONS = "spark.sql.shuffle.partitions"
_PROPERTY = "spark.job.description"


def small_batch_conf(session: SparkSession, changes: float) -> Mapping[str, str]:
    """Settings for up to `SMALL_BATCH` changes: a query is one job, with a task for each core.

    An adaptive plan runs each stage as a job. For few changes, these jobs cost more than the work.
    """
    if changes > SMALL_BATCH or is_remote():
        return {}
    cores = session.sparkContext.defaultParallelism
    partitions = min(cores, int(session.conf.get(_PARTITIONS) or cores))
    return {"spark.sql.adaptive.enabled": "false", _PARTITIONS: str(partitions)}


def vacuum_conf(session: SparkSession) -> Mapping[str, str]:
    """Settings for VACUUM: a few tasks per core list files, instead of 10,000 tasks by default."""
    tasks = 8 if is_remote() else 4 * session.sparkContext.defaultParallelism
    return {"spark.sql.sources.parallelPartitionDiscovery.parallelism": str(tasks)}


@contextmanager
def session_conf(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply `settings` while the block runs. Both formats read commit metadata from settings."""
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)


@contextmanager
def job_description(session: SparkSession, text: str) -> Iterator[None]:
    """Describe the Spark jobs that this thread starts in a block: `reconcile: compact 3 buckets`.

    Restores the previous description afterwards. Does nothing in Spark Connect, which has no
    descriptions.
    """
    if is_remote():
        yield
        return
    context = session.sparkContext
    before = context.getLocalProperty(_PROPERTY)
    context.setLocalProperty(_PROPERTY, text)
    try:
        yield
    finally:
        # Null removes the property; the stub of pyspark does not allow it.
        context._jsc.setLocalProperty(_PROPERTY, before)
