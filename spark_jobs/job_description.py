"""Descriptions of Spark jobs: the UI shows them instead of the call that started the job."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

_PROPERTY = "spark.job.description"


@contextmanager
def job_description(session: SparkSession, text: str) -> Iterator[None]:
    """Describe the Spark jobs that this thread starts in a block: `reconcile: compact 3 buckets`.

    The description before the block applies again afterwards. A session of Spark Connect has no
    descriptions; there this does nothing.
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
