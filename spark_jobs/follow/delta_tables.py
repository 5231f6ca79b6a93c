"""The Delta tables in the folder of a follower: the expiry index, and the dead letters."""

import logging

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs.delta_table import create_delta_table
from spark_jobs.follow.plan import Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.session_conf import session_conf, vacuum_conf

_HOUR_S = 3600
_RETENTION = "interval 1 hours"
"""Age up to which deleted files stay, for the case that two processes overlap."""
_SCHEMA = "table STRING, hour BIGINT, token BIGINT, ck BINARY, expires_s BIGINT"
logger = logging.getLogger(__name__)
_COLUMNS = "table STRING, rejected STRING, cdc_row_id BINARY, store_version BIGINT, second BIGINT"
_SHOWN = 5


class ExpiryIndex:
    """The index at a path: the keys of rows by the second at which a value of them expires.

    A small table, partitioned by table and hour, so that a read of due keys opens few files. Each
    follower has its own. Entries that no longer apply are harmless: the merge finds no change.
    Delta Lake compacts an hour that has many files. The index deletes past hours.
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
        """The hour up to which the past of each table is deleted."""

    def add(self, table_id: str, changes: DataFrame) -> None:
        """Add the keys of changes with a `next_expiry_s`."""
        expires_s = F.col("next_expiry_s")
        entries = changes.where(expires_s.isNotNull()).select(
            F.lit(table_id).alias("table"),
            _hour(expires_s).alias("hour"),
            *("token", "ck"),
            expires_s.alias("expires_s"),
        )
        # Few files: an hour has one.
        by_hour = entries.repartition("hour")
        by_hour.write.format("delta").mode("append").save(self._path)

    def due(self, table_id: str, after_s: int, until_s: int) -> DataFrame:
        """The keys `token` and `ck` of values that expire after one second until another."""
        hours = F.col("hour").between(after_s // _HOUR_S, until_s // _HOUR_S)
        expires_s = F.col("expires_s")
        entries = self._entries(table_id).where(hours)
        return entries.where((expires_s > after_s) & (expires_s <= until_s)).select("token", "ck")

    def next_due_s(self, table_id: str, after_s: int) -> int | None:
        """The second after `after_s` at which the next value expires; None if none does."""
        this_hour = after_s // _HOUR_S
        later = self._entries(table_id).where(F.col("expires_s") > after_s)
        hour = F.col("hour")
        # Most often in few files. The others are read only if nothing expires soon.
        for hours in (hour.between(this_hour, this_hour + 1), hour > this_hour + 1):
            (row,) = later.where(hours).agg(F.min("expires_s").alias("next")).collect()
            if row["next"] is not None:
                return int(row["next"])
        return None

    def forget(self, table_id: str, before_s: int) -> None:
        """Delete the hours of a table that ended before this second, and old files."""
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


def _hour(second: Column) -> Column:
    return F.floor(second / _HOUR_S).cast("bigint")


class DeadLetters:
    """The rejected rows of a follower: a legal value of them has no typed form.

    A target has none of them until their value changes.
    """

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
        create_delta_table(self._session, self._path, _COLUMNS, ("table",))
        rejected.write.format("delta").mode("append").save(self._path)
        logger.warning(
            "rows are left out of the target: a value has no typed form; correct it in Cassandra",
            extra=fields(
                table=table.full_name,
                rows=[row["rejected"] for row in rejected.limit(_SHOWN).collect()],
                dead_letters=self._path,
            ),
        )
