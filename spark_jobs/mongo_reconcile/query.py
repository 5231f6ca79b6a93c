"""The streaming query: records in, the latest documents in their table.

Each micro-batch is merged into the table. One that comes again, after a failure between the merge
and the commit of the checkpoint, changes nothing, so no transaction has to be remembered.
"""

import time

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.mongo_reconcile.changes import changes
from spark_jobs.mongo_reconcile.documents import Documents
from spark_jobs.mongo_reconcile.job_options import MongoJobOptions

_PURGE_EVERY_MS = 3_600_000


def start(records: DataFrame, documents: Documents, options: MongoJobOptions) -> StreamingQuery:
    """Start the query over records of the Kafka source."""
    return (
        records.writeStream.foreachBatch(_Writer(documents, options).write)
        .queryName("mongo-reconcile")
        .option("checkpointLocation", options.checkpoint)
        .trigger(**options.trigger_arguments())
        .start()
    )


class _Writer:
    """Takes in micro-batches, and forgets old deletes now and then."""

    def __init__(self, documents: Documents, options: MongoJobOptions) -> None:
        self._documents = documents
        self._options = options
        self._purged_ms = 0

    def write(self, records: DataFrame, _: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        self._documents.apply(changes(records, self._options), now_ms)
        if now_ms - self._purged_ms >= _PURGE_EVERY_MS:
            self._documents.purge(now_ms - self._options.tombstone_retention_ms)
            self._purged_ms = now_ms
