"""The Delta table of the latest documents: one row for each that was ever heard of.

A deleted document keeps its row, without the document, until no older change of it can come again.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.mongo_reconcile.changes import POSITION
from spark_jobs.mongo_reconcile.latest import KEY, latest

_COLUMNS = (
    "collection STRING NOT NULL, id STRING NOT NULL, "
    f"position {POSITION.upper()}, state STRING NOT NULL, document STRING, place STRING, "
    "seen_at TIMESTAMP NOT NULL"
)


class Documents:
    """The table at a folder or URI; made when it is not there."""

    def __init__(self, session: SparkSession, uri: str) -> None:
        self._session = session
        self._uri = uri
        self._table = f"delta.`{uri}`"
        session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._table} ({_COLUMNS}) USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )

    def apply(self, changes: DataFrame, seen_ms: int) -> None:
        """Take in changes, seen at a time. Taking them in again, or older ones, changes nothing."""
        seen_at = F.timestamp_millis(F.lit(seen_ms))
        new = latest(changes).withColumn("seen_at", seen_at)
        on = " AND ".join(f"known.{name} = new.{name}" for name in KEY)
        new.createOrReplaceTempView("new_documents")
        # A micro-batch has a session of its own, which alone knows the view.
        new.sparkSession.sql(
            f"""
            MERGE INTO {self._table} AS known USING new_documents AS new ON {on}
            WHEN MATCHED AND new.position > known.position THEN UPDATE SET *
            WHEN NOT MATCHED THEN INSERT *
            """
        )

    def purge(self, before_ms: int) -> None:
        """Forget the documents whose delete was seen before a time."""
        self._session.sql(
            f"DELETE FROM {self._table} "
            f"WHERE state = 'deleted' AND seen_at < timestamp_millis({before_ms})"
        )

    def rows(self) -> DataFrame:
        """The whole table."""
        return self._session.read.format("delta").load(self._uri)

    def current(self, collection: str) -> DataFrame:
        """The documents of a collection: id, document, is_known.

        `is_known` is false, and the document null, where the last event of a document did not
        carry it: the agent must send full documents.
        """
        there = (F.col("collection") == collection) & (F.col("state") != "deleted")
        is_known = F.col("state") == "live"
        return self.rows().where(there).select("id", "document", is_known.alias("is_known"))

    def counts(self) -> dict[str, dict[str, int]]:
        """Documents by collection and state."""
        counts: dict[str, dict[str, int]] = {}
        of_state = self.rows().groupBy("collection", "state").count()
        for collection, state, count in of_state.collect():
            counts.setdefault(collection, {})[state] = count
        return counts
