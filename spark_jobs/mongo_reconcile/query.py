"""The streaming query: merges each micro-batch of records into the table of documents.

After a failure between the merge and the commit of the checkpoint, Spark repeats the micro-batch.
Merging it again has no effect, so the query stores no transaction id.
"""

import time

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.options import MongoJobOptions

_PURGE_INTERVAL_MS = 3_600_000


def start(records: DataFrame, documents: DocumentTable, options: MongoJobOptions) -> StreamingQuery:
    """Start the query over records of the Kafka source."""
    return (
        records.writeStream.foreachBatch(_Writer(documents, options).write)
        .queryName("mongo-reconcile")
        .option("checkpointLocation", options.checkpoint)
        .trigger(**options.trigger_arguments())
        .start()
    )


class _Writer:
    """Merges micro-batches, and purges old deletes once an hour."""

    def __init__(self, documents: DocumentTable, options: MongoJobOptions) -> None:
        self._documents = documents
        self._options = options
        self._purged_ms = 0

    def write(self, records: DataFrame, _: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        self._documents.apply(changes(records, self._options), now_ms)
        if now_ms - self._purged_ms >= _PURGE_INTERVAL_MS:
            self._documents.purge(now_ms - self._options.tombstone_retention_ms)
            self._purged_ms = now_ms
