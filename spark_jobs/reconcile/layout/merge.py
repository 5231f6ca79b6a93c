"""Versions merged at once: one stored row for each row of the table, with a `win` for each column.

One Delta table with deletion vectors, partitioned by table and bucket. A micro-batch is reduced to
one version of each place, gathered into rows, and merged. A stored row has in `wins` a member for
each simple column, one for its liveness and one for its deletion; everything else (elements,
shards, ranges, deletions of partitions and collections) is a stored row of its own. Readers need
no maximum; each micro-batch reads the keys of the whole table.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.expressions import WIN
from spark_jobs.reconcile.layout.protocol import Batch
from spark_jobs.reconcile.layout.stored import (
    create_table,
    escaped,
    files_by_bucket,
)
from spark_jobs.reconcile.purging import without_past
from spark_jobs.reconcile.versions import COLUMNS, PLACE, standing, versions_with_shards

_WIDE = "wide"
_COLUMN = "column:"
"""Before the names of columns in `wins`, where they stand beside scopes."""
_SCHEMA = (
    "table STRING, bucket INT, token BIGINT, pk BINARY, ck BINARY, scope STRING, hi BINARY,"
    f" column STRING, path BINARY, wins MAP<STRING, {WIN}>, ckv ARRAY<BINARY>"
)
_TXN = "spark.databricks.delta.write.txn"


class MergeLayout:
    """The versions of all tables, in one Delta table at a path."""

    def __init__(
        self, session: SparkSession, path: str, *, buckets: int, max_loose_files: int = 8
    ) -> None:
        """Opens the table, or makes it. Raises `JobError` for another count of buckets than it
        was made with, and for one of another layout. A bucket of more than `max_loose_files`
        files is written anew by `compact`."""
        self._session = session
        self._path = path
        self._max_loose_files = max_loose_files
        create_table(
            session,
            path,
            _SCHEMA,
            layout="merge",
            buckets=buckets,
            partitioned_by=("table", "bucket"),
            properties={"delta.enableDeletionVectors": "true"},
        )

    def take(self, events: DataFrame, batch: Batch | None = None) -> None:
        self.append(versions_with_shards(events), batch)

    def append(self, versions: DataFrame, batch: Batch | None = None) -> None:
        rows = _wide(standing(versions))
        same = " AND ".join(f"new.{name} <=> old.{name}" for name in PLACE)
        larger = "map_zip_with(old.wins, new.wins, (name, a, b) -> greatest(a, b))"
        # A row of which nothing is new is not written again.
        is_new = "name -> coalesce(new.wins[name] > old.wins[name], true)"
        changed = f"exists(map_keys(new.wins), {is_new}) OR new.ckv < old.ckv"
        # A micro-batch has a session of its own.
        session = versions.sparkSession
        with _transaction(session, batch):
            (
                DeltaTable.forPath(session, self._path)
                .alias("old")
                .merge(rows.alias("new"), same)
                .whenMatchedUpdate(
                    condition=changed, set={"wins": larger, "ckv": "least(old.ckv, new.ckv)"}
                )
                .whenNotMatchedInsertAll()
                .execute()
            )

    def held(self, tables: Collection[str] | None = None) -> DataFrame:
        return self.versions(tables)

    def versions(self, tables: Collection[str] | None = None) -> DataFrame:
        stored = self._stored()
        if tables is not None:
            stored = stored.where(F.col("table").isin(*tables))
        return _narrow(stored)

    def compact(self) -> int:
        files = files_by_bucket(self._stored())
        due = [bucket for bucket, count in files.items() if count > self._max_loose_files]
        for table, bucket in due:
            where = f"table = '{escaped(table)}' AND bucket = {bucket}"
            DeltaTable.forPath(self._session, self._path).optimize().where(
                where
            ).executeCompaction()
        return len(due)

    def purge(self, table: str, before_s: int) -> None:
        kept = _wide(without_past(self.versions([table]), before_s))
        writer = kept.write.format("delta").mode("overwrite")
        writer.option("replaceWhere", f"table = '{escaped(table)}'").save(self._path)

    def _stored(self) -> DataFrame:
        return self._session.read.format("delta").load(self._path)


@contextmanager
def _transaction(session: SparkSession, batch: Batch | None) -> Iterator[None]:
    """MERGE has no options: what names the batch stands in the session meanwhile."""
    if batch is None:
        yield
        return
    session.conf.set(f"{_TXN}AppId", batch.app)
    session.conf.set(f"{_TXN}Version", str(batch.number))
    try:
        yield
    finally:
        session.conf.unset(f"{_TXN}AppId")
        session.conf.unset(f"{_TXN}Version")


def _wide(versions: DataFrame) -> DataFrame:
    """One version of each place, gathered into stored rows."""
    scope = F.col("scope")
    is_simple = scope.isin("live", "row") | ((scope == "cell") & F.col("path").isNull())
    name = F.when(scope == "cell", F.concat(F.lit(_COLUMN), "column")).otherwise(scope)

    def of_others(column: str) -> Column:
        return F.when(~is_simple, F.col(column)).alias(column)

    key = [
        *(F.col(each) for each in ("table", "bucket", "token", "pk", "ck")),
        F.when(is_simple, _WIDE).otherwise(scope).alias("scope"),
        *map(of_others, ("hi", "column", "path")),
    ]
    return versions.groupBy(*key).agg(
        F.map_from_entries(F.collect_list(F.struct(name, "win"))).alias("wins"),
        F.min("ckv").alias("ckv"),
    )


def _narrow(rows: DataFrame) -> DataFrame:
    """Stored rows as versions again."""
    is_wide = F.col("scope") == _WIDE
    is_column = F.col("name").startswith(_COLUMN)
    return (
        rows.select("*", F.explode("wins").alias("name", "win"))
        .select(
            *("table", "bucket", "token", "pk", "ck"),
            F.when(~is_wide, F.col("scope"))
            .when(is_column, "cell")
            .otherwise(F.col("name"))
            .alias("scope"),
            "hi",
            F.when(is_wide & is_column, F.expr(f"substring(name, {len(_COLUMN) + 1})"))
            .otherwise(F.col("column"))
            .alias("column"),
            "path",
            "win",
            "ckv",
        )
        .select(*COLUMNS)
    )
