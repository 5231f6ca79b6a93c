"""The Delta tables in a follower's folder: the expiry index and the dead letters."""

import logging

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.delta_table import create_delta_table
from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.session_conf import session_conf, vacuum_conf

_HOUR_S = 3600
_RETENTION = "interval 1 hours"
"""How long deleted files are kept, in case two processes overlap."""
_SCHEMA = "table STRING, hour BIGINT, token BIGINT, ck BINARY, expires_s BIGINT"
logger = logging.getLogger(__name__)
_COLUMNS = "table STRING, rejected STRING, cdc_row_id BINARY, store_version BIGINT, second BIGINT"
_SHOWN = 5


class ExpiryIndex:
    """An index of row keys by the second at which one of the row's values expires.

    The Delta table is partitioned by source table and hour, so that reading due keys opens few
    files. Each follower has its own index. Outdated entries are harmless: the merge finds no
    change. Delta Lake compacts hours with many files. `forget` deletes past hours.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        """Open the index, or create it."""
        self._session = session
        self._path = path
        properties = {
            "delta.autoOptimize.autoCompact": "true",
            "delta.deletedFileRetentionDuration": _RETENTION,
            "delta.logRetentionDuration": "interval 1 days",
        }
        create_delta_table(session, path, _SCHEMA, ("table", "hour"), properties)
        self._forgotten: dict[str, int] = {}
        """The hour before which all entries are deleted, by table."""

    def add(self, table_id: str, changes: DataFrame) -> None:
        """Add the keys of changes with a `next_expiry_s`."""
        expires_s = F.col("next_expiry_s")
        entries = changes.where(expires_s.isNotNull()).select(
            F.lit(table_id).alias("table"),
            F.floor(expires_s / _HOUR_S).cast("bigint").alias("hour"),
            *("token", "ck"),
            expires_s.alias("expires_s"),
        )
        # One file per hour.
        by_hour = entries.repartition("hour")
        by_hour.write.format("delta").mode("append").save(self._path)

    def due(self, table_id: str, after_s: int, until_s: int) -> DataFrame:
        """The `token` and `ck` of values that expire after `after_s` and up to `until_s`."""
        hours = F.col("hour").between(after_s // _HOUR_S, until_s // _HOUR_S)
        expires_s = F.col("expires_s")
        entries = self._entries(table_id).where(hours)
        return entries.where((expires_s > after_s) & (expires_s <= until_s)).select("token", "ck")

    def next_due_s(self, table_id: str, after_s: int) -> int | None:
        """The first second after `after_s` at which a value expires; None if there is none."""
        this_hour = after_s // _HOUR_S
        later = self._entries(table_id).where(F.col("expires_s") > after_s)
        hour = F.col("hour")
        # Usually found in few files. The others are read only if nothing expires soon.
        for hours in (hour.between(this_hour, this_hour + 1), hour > this_hour + 1):
            (row,) = later.where(hours).agg(F.min("expires_s").alias("next")).collect()
            if row["next"] is not None:
                return int(row["next"])
        return None

    def forget(self, table_id: str, before_s: int) -> None:
        """Delete a table's entries of hours that ended before this second, and old files."""
        hour = before_s // _HOUR_S
        if self._forgotten.get(table_id) == hour:
            return
        is_first = hour not in self._forgotten.values()
        self._session.sql(
            f"DELETE FROM delta.`{self._path}` WHERE table = '{table_id}' AND hour < {hour}"
        )
        self._forgotten[table_id] = hour
        if is_first:
            # Once an hour, for all tables.
            with session_conf(self._session, vacuum_conf(self._session)):
                self._session.sql(f"VACUUM delta.`{self._path}`")

    def _entries(self, table_id: str) -> DataFrame:
        rows = self._session.read.format("delta").load(self._path)
        return rows.where(F.col("table") == table_id)


class DeadLetters:
    """Rows that a follower rejects, because a legal value has no typed form.

    Such a row is missing from the target until the value changes.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        """The table at `path` is created with the first rejected row."""
        self._session = session
        self._path = path

    def add(self, table: SourceTable, changes: DataFrame, after: Position) -> None:
        """Append a batch's rejected rows, and log the first few. A crash may duplicate them."""
        rejected = changes.where(F.col("rejected").isNotNull()).select(
            F.lit(table.full_name).alias("table"),
            "rejected",
            "cdc_row_id",
            F.lit(after.store_version).cast("bigint").alias("store_version"),
            F.lit(after.second).cast("bigint").alias("second"),
        )
        # A table's name may be longer than the name of a folder, so it is no partition.
        create_delta_table(self._session, self._path, _COLUMNS)
        rejected.write.format("delta").mode("append").save(self._path)
        logger.warning(
            "rows are left out of the target: a value has no typed form; correct it in Cassandra",
            extra=fields(
                table=table.full_name,
                rows=[row["rejected"] for row in rejected.limit(_SHOWN).collect()],
                dead_letters=self._path,
            ),
        )
