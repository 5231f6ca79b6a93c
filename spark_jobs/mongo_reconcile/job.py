"""The job: topics in, the latest documents in a table, until the trigger ends or a signal comes."""

import logging
import threading
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs import metrics_files
from spark_jobs.checkpoint import JobIdentity, claim
from spark_jobs.mongo_reconcile import query
from spark_jobs.mongo_reconcile.documents import Documents
from spark_jobs.mongo_reconcile.job_options import MongoJobOptions
from spark_jobs.progress import follow, stopping_on_signals
from spark_jobs.session import create_session, session_of_job
from spark_jobs.source import read_stream

logger = logging.getLogger(__name__)
_PREFIX = "cdc_mongo_reconcile_"


def main(options: MongoJobOptions) -> None:
    """Run in a session of its own and print the summary."""
    session = create_session(
        "cdc-mongo-reconcile", settings=options.spark_settings(), jars=options.jars_directory
    )
    try:
        with stopping_on_signals() as stop:
            records = run(session, options, stop=stop)
        print(f"{records} records read.")
        print(summary(Documents(session, options.table_path)))
    finally:
        session.stop()


def run(
    session: SparkSession, options: MongoJobOptions, *, stop: threading.Event | None = None
) -> int:
    """Run to the end of the trigger, or until `stop` is set; the number of records read.

    Raises `CheckpointError`, `InputError`, or what Spark raises.
    """
    session = session_of_job(session, options.state_partitions)
    identity = JobIdentity("mongo-reconcile", options.subscription(), options.fixed())
    claimed = claim(session, options.checkpoint, identity)
    documents = Documents(session, options.table_path)
    records = read_stream(session, options, is_limited=options.trigger != "once")
    started = query.start(records, documents, options)
    logger.info(
        "mongo_reconcile runs",
        extra=fields(topics=identity.topics, order=options.order_by, new=claimed.is_new),
    )
    counted = _Counted(options)
    follow(started, counted.batch, stop=stop)
    return counted.records


def summary(documents: Documents) -> str:
    """A line for each collection, for people."""
    lines = []
    for collection, counts in sorted(documents.counts().items()):
        line = f"{collection}: {counts.get('live', 0)} documents"
        line += f", {counts.get('deleted', 0)} deletes remembered"
        if counts.get("unknown"):
            line += (
                f", {counts['unknown']} changed without the document in the event: the agent must "
                "send full documents (capture.mode=change_streams_update_full)"
            )
        lines.append(line)
    return "\n".join(lines) or "No documents."


class _Counted:
    """The records of all micro-batches."""

    def __init__(self, options: MongoJobOptions) -> None:
        self._options = options
        self.records = 0

    def batch(self, progress: Mapping[str, Any]) -> None:
        self.records += int(progress["numInputRows"])
        sums = {"records": self.records}
        registry = metrics_files.counters(_PREFIX, sums, {"records": "Records that were read."})
        metrics_files.write(self._options, sums, registry)
        logger.info(
            "micro-batch", extra=fields(batch=progress["batchId"], records=progress["numInputRows"])
        )
