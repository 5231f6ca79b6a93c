"""Appends changes to a Delta table, each exactly once."""

import json
from dataclasses import asdict

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.changes.envelope import PublishedTable, change_id
from spark_jobs.changes.journal import BegunBatch
from spark_jobs.delta_table import ANY_NAMES


class ChangesTable:
    """The Delta table of the changes of one table: typed rows before and after each change."""

    def __init__(self, path: str, table: PublishedTable, app: str) -> None:
        """`app` is unique for each checkpoint, so Delta recognizes a repeated batch."""
        self._path = path
        self._table = table
        self._app = app

    def end_offsets(self) -> dict[int, int]:
        return {}

    def write(self, changes: DataFrame, batch: BegunBatch, *, is_resumed: bool) -> None:
        """Append the changes. Delta skips a batch that it already has."""
        rows = change_rows(changes, self._table, batch)
        writer = rows.write.format("delta").mode("append").options(**ANY_NAMES)
        writer = writer.option("mergeSchema", "true")
        metadata = {**asdict(batch.after), "offsets": batch.offsets}
        writer = writer.option("userMetadata", json.dumps(metadata))
        writer = writer.option("txnAppId", f"{self._app}/{self._table.id}")
        writer.option("txnVersion", batch.number).save(self._path)


def change_rows(changes: DataFrame, table: PublishedTable, batch: BegunBatch) -> DataFrame:
    """The rows of a table of changes."""
    op = F.lit("r") if batch.before is None else F.col("op")
    return changes.where(F.col("op").isNotNull()).select(
        change_id(table, batch.after).alias("id"),
        "cdc_row_id",
        F.lit(batch.after.store_version).cast("bigint").alias("store_version"),
        F.lit(batch.after.second).cast("bigint").alias("second"),
        "seq",
        op.alias("op"),
        "cause",
        "ts_us",
        "before",
        "after",
    )
