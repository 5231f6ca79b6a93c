"""The job: merges topics into the table of documents, until the trigger ends or a signal."""

import logging
import threading
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs import metrics_files
from spark_jobs.checkpoint_owner import CheckpointOwner, acquire_checkpoint
from spark_jobs.mongo_reconcile import query
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.progress import follow, stop_on_signals
from spark_jobs.session import create_job_session, isolated_session
from spark_jobs.source import read_stream

logger = logging.getLogger(__name__)
_PREFIX = "cdc_mongo_reconcile_"


def main(options: MongoJobOptions) -> None:
    """Run in a new session and print the summary."""
    session = create_job_session("cdc-mongo-reconcile", options)
    try:
        with stop_on_signals() as stop:
            records = run(session, options, stop=stop)
        print(f"{records} records read.")
        print(summary(DocumentTable(session, options.table_path)))
    finally:
        session.stop()


def run(
    session: SparkSession, options: MongoJobOptions, *, stop: threading.Event | None = None
) -> int:
    """Run until the trigger ends or `stop` is set. Returns the number of records read.

    Raises `CheckpointError`, `InputError`, or an exception of Spark.
    """
    session = isolated_session(session, options.state_partitions)
    owner = CheckpointOwner("mongo-reconcile", options.subscription(), options.fixed())
    checkpoint = acquire_checkpoint(session, options.checkpoint, owner)
    documents = DocumentTable(session, options.table_path)
    records = read_stream(session, options, is_limited=options.trigger != "once")
    started = query.start(records, documents, options)
    logger.info(
        "mongo_reconcile started",
        extra=fields(topics=owner.topics, order=options.order_by, new=checkpoint.is_new),
    )
    counter = _RecordCounter(options)
    follow(started, counter.count, stop=stop)
    return counter.records


def summary(documents: DocumentTable) -> str:
    """One line for each collection."""
    lines = []
    for collection, counts in sorted(documents.counts().items()):
        line = f"{collection}: {counts.get('live', 0)} documents"
        line += f", {counts.get('deleted', 0)} deletes remembered"
        if counts.get("unknown"):
            line += (
                f", {counts['unknown']} changed without the document in the event (set "
                "capture.mode=change_streams_update_full for the agent)"
            )
        lines.append(line)
    return "\n".join(lines) or "No documents."


class _RecordCounter:
    """Counts and reports the records of all micro-batches."""

    def __init__(self, options: MongoJobOptions) -> None:
        self._options = options
        self.records = 0

    def count(self, progress: Mapping[str, Any]) -> None:
        self.records += int(progress["numInputRows"])
        sums = {"records": self.records}
        registry = metrics_files.counters(_PREFIX, sums, {"records": "Records read."})
        metrics_files.write(self._options, sums, registry)
        logger.info(
            "micro-batch done",
            extra=fields(batch=progress["batchId"], records=progress["numInputRows"]),
        )
