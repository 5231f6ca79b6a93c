"""The dead letters of jobs that read topics: records that they cannot use, in a Delta table.

key, value, headers, topic, partition, offset   as in Kafka
error   string   the place of the record and the reason
"""

import logging
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.error_mapping import MESSAGE_PREFIX

logger = logging.getLogger(__name__)
RAW_COLUMNS = ("key", "value", "headers", "topic", "partition", "offset")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class InvalidRecords:
    """The table at `path`; without a path an invalid record fails the job. `app` identifies the
    checkpoint."""

    path: str | None = None
    app: str = ""

    def append(self, rows: DataFrame, batch: int) -> None:
        """Append rows with `RAW_COLUMNS` and `error`. A repeated micro-batch has no effect."""
        assert self.path is not None
        error = F.regexp_replace("error", f"^{MESSAGE_PREFIX}", "").alias("error")
        found = rows.select(*RAW_COLUMNS, error)
        shown = [row["error"] for row in found.select("error").limit(_SHOWN).collect()]
        if not shown:
            return
        writer = found.write.format("delta").mode("append").option("mergeSchema", "true")
        writer.option("txnAppId", self.app).option("txnVersion", batch).save(self.path)
        logger.warning(
            "records cannot be used; the job continues without them",
            extra=fields(batch=batch, records=shown, dead_letters=self.path),
        )
