"""Rows that have a legal value without a typed form, by source table, in a Delta table."""

import logging

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.delta_table import create_delta_table
from spark_jobs.follow.position import Position
from spark_jobs.reconcile.source_table import SourceTable

logger = logging.getLogger(__name__)
_COLUMNS = "table STRING, rejected STRING, cdc_row_id BINARY, store_version BIGINT, second BIGINT"
_SHOWN = 5


class DeadLetters:
    """The rejected rows of a follower. A target has none of them until their value changes."""

    def __init__(self, session: SparkSession, path: str) -> None:
        """The table at `path` is created with the first rejected row."""
        self._session = session
        self._path = path

    def add(self, table: SourceTable, changes: DataFrame, after: Position) -> None:
        """Append the rejected rows of a batch, and log the first ones. A crash may repeat them."""
        rejected = changes.where(F.col("rejected").isNotNull()).select(
            F.lit(table.full_name).alias("table"),
            "rejected",
            "cdc_row_id",
            F.lit(after.store_version).cast("bigint").alias("store_version"),
            F.lit(after.second).cast("bigint").alias("second"),
        )
        create_delta_table(self._session, self._path, _COLUMNS, ("table",), {})
        rejected.write.format("delta").mode("append").save(self._path)
        logger.warning(
            "rows are left out of the target: a value has no typed form; correct it in Cassandra",
            extra=fields(
                table=table.full_name,
                rows=[row["rejected"] for row in rejected.limit(_SHOWN).collect()],
                dead_letters=self._path,
            ),
        )
