"""Merges topics into the table of documents, until the trigger ends or a signal arrives.

After a failure between the merge and the commit of the checkpoint, Spark repeats the micro-batch.
Merging it again has no effect, so the query stores no transaction id.
"""

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from sidecar.logs import fields
from spark_jobs import metrics_files
from spark_jobs.mongo_reconcile.changes import CHANGE_COLUMNS, changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import (
    MicroBatch,
    Show,
    follow,
    micro_batch,
    no_line,
    start_job,
    start_query,
)
from spark_jobs.session import isolate_session
from spark_jobs.session_conf import job_description
from spark_jobs.source.events import InvalidRecords
from spark_jobs.source.kafka import open_source

logger = logging.getLogger(__name__)
_JOB = "mongo-reconcile"
_PREFIX = "cdc_mongo_reconcile_"
_HELP_TEXTS = {"records": "Records read."}
_FAIL = InvalidRecords()
_PURGE_INTERVAL_MS = 3_600_000


def main(options: MongoJobOptions) -> JobReport:
    with start_job(_JOB, options) as job:
        records = run(job.session, options, stop=job.stop, show=job.show)
        collections = DocumentTable(job.session, options.table_path).counts()
        message = f"{records} records read.\n{summary(collections)}"
        return JobReport(message, {"records": records, "collections": collections})


def run(
    session: SparkSession,
    options: MongoJobOptions,
    *,
    stop: threading.Event | None = None,
    show: Show = no_line,
) -> int:
    """Run until the trigger ends or `stop` is set. Returns the number of records read. Raises
    `CheckpointError` or `InputError`."""
    session = isolate_session(session, options.state_partitions)
    checkpoint, topics, records = open_source(
        session, options, _JOB, options.fixed(), compacted="accept"
    )
    documents = DocumentTable(session, options.table_path)
    invalid = InvalidRecords(options.dead_letter_path, checkpoint.id)
    query = start_merging(records, documents, options, invalid)
    given = {"topics": options.subscription(), "order": options.order_by}
    logger.info("mongo_reconcile started", extra=fields(**given, new=checkpoint.is_new))
    read = 0
    last: MicroBatch | None = None

    def write(has_failed: bool) -> None:
        registry = registry_of(read)
        metrics_files.write(
            options, {"records": read}, registry, job=_JOB, last=last, has_failed=has_failed
        )

    def count(progress: Mapping[str, Any]) -> None:
        nonlocal read, last
        read += int(progress["numInputRows"])
        last = micro_batch(progress)
        show(f"{read:,} records read")
        write(False)
        logger.info(
            "micro-batch done",
            extra=fields(batch=progress["batchId"], records=progress["numInputRows"]),
        )

    with metrics_files.final_report(write):
        follow(query, count, verify=topics.verify, stop=stop)
    return read


def start_merging(
    records: DataFrame,
    documents: DocumentTable,
    options: MongoJobOptions,
    invalid: InvalidRecords = _FAIL,
) -> StreamingQuery:
    """Start the query that merges records of the Kafka source into the table."""
    writer = records.writeStream.foreachBatch(_Writer(documents, options, invalid).write)
    return start_query(writer, _JOB, options)


def summary(collections: Mapping[str, Mapping[str, int]]) -> str:
    """One line per collection."""
    lines = []
    for collection, counts in sorted(collections.items()):
        line = f"{collection}: {counts.get('live', 0)} documents"
        line += f", {counts.get('deleted', 0)} deletes remembered"
        if counts.get("unknown"):
            line += (
                f", {counts['unknown']} changed without the document in the event (set "
                "capture.mode=change_streams_update_full for the agent)"
            )
        lines.append(line)
    return "\n".join(lines) or "No documents."


class _Writer:
    """Merges micro-batches, and purges old deletes once an hour."""

    def __init__(
        self, documents: DocumentTable, options: MongoJobOptions, invalid: InvalidRecords
    ) -> None:
        self._invalid = invalid
        self._documents = documents
        self._options = options
        self._purged_ms = 0

    def write(self, records: DataFrame, number: int) -> None:
        session, now_ms = records.sparkSession, time.time_ns() // 1_000_000
        with job_description(session, f"mongo_reconcile: merge micro-batch {number}"):
            if self._invalid.path is None:
                self._documents.apply(changes(records, self._options), now_ms)
            else:
                self._merge_valid(records, number, now_ms)
        if now_ms - self._purged_ms >= _PURGE_INTERVAL_MS:
            with job_description(session, "mongo_reconcile: purge old deletes"):
                self._documents.purge(now_ms - self._options.tombstone_retention_ms)
            self._purged_ms = now_ms

    def _merge_valid(self, records: DataFrame, number: int, now_ms: int) -> None:
        """Merge the valid changes, and append the other records to the dead letters."""
        cached = changes(records, self._options, keep_invalid=True).persist(StorageLevel.DISK_ONLY)
        try:
            checked = self._documents.with_order_errors(cached)
            self._invalid.append(checked.where(F.col("error").isNotNull()), number)
            valid = checked.where(F.col("error").isNull()).select(*CHANGE_COLUMNS)
            self._documents.apply(valid, now_ms)
        finally:
            cached.unpersist()


def registry_of(records: int) -> CollectorRegistry:
    return metrics_files.counters(_PREFIX, {"records": records}, _HELP_TEXTS)
