"""The layout `merge`: one stored row for each source row, with a precedence for each column.

One Delta table with deletion vectors, partitioned by table and bucket. The layout reduces a
micro-batch to one version of each place, groups the versions into rows and merges them. The map
`wins` of a stored row has an entry for each simple column, for its liveness and for its deletion.
Elements, shards, ranges, and deletions of partitions and collections have stored rows of their own.
Reads need no aggregation, but each micro-batch reads the keys of the whole table.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.expressions.precedence import PRECEDENCE
from spark_jobs.reconcile.layout.delta_table import VersionsTable, escaped, files_by_bucket
from spark_jobs.reconcile.layout.protocol import Batch
from spark_jobs.reconcile.purgeable import drop_purgeable
from spark_jobs.reconcile.versions import COLUMNS, PLACE, explode_events_with_shards, latest

_SIMPLE = "wide"
"""Stored `scope` of the row with the simple columns, liveness and deletion of a source row."""
_COLUMN = "column:"
"""Prefix of column names in `wins`, which distinguishes them from scopes."""
_TXN = "spark.databricks.delta.write.txn"


class MergeLayout(VersionsTable):
    """The layout `merge` at a path."""

    NAME = "merge"
    SCHEMA = (
        "table STRING, bucket INT, token BIGINT, pk BINARY, ck BINARY, scope STRING, hi BINARY,"
        f" column STRING, path BINARY, wins MAP<STRING, {PRECEDENCE}>, ckv ARRAY<BINARY>"
    )
    PARTITIONED_BY = ("table", "bucket")
    PROPERTIES: ClassVar[Mapping[str, str]] = {"delta.enableDeletionVectors": "true"}

    def write_events(self, events: DataFrame, batch: Batch | None = None) -> None:
        self.write_versions(explode_events_with_shards(events), batch)

    def write_versions(self, versions: DataFrame, batch: Batch | None = None) -> None:
        rows = _stored_rows(latest(versions))
        same = " AND ".join(f"new.{name} <=> old.{name}" for name in PLACE)
        larger = "map_zip_with(old.wins, new.wins, (name, a, b) -> greatest(a, b))"
        # Rows without a change are not rewritten.
        is_new = "name -> coalesce(new.wins[name] > old.wins[name], true)"
        changed = f"exists(map_keys(new.wins), {is_new}) OR new.ckv < old.ckv"
        # A micro-batch has its own session.
        session = versions.sparkSession
        with _transaction(session, batch):
            (
                DeltaTable.forPath(session, self.path)
                .alias("old")
                .merge(rows.alias("new"), same)
                .whenMatchedUpdate(
                    condition=changed, set={"wins": larger, "ckv": "least(old.ckv, new.ckv)"}
                )
                .whenNotMatchedInsertAll()
                .execute()
            )

    def stored_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return self.latest_versions(tables)

    def latest_versions(self, tables: Collection[str] | None = None) -> DataFrame:
        return _versions(self.stored(tables))

    def compact(self) -> int:
        files = files_by_bucket(self.stored())
        due = [bucket for bucket, count in files.items() if count > self.max_uncompacted_files]
        for table, bucket in due:
            where = f"table = '{escaped(table)}' AND bucket = {bucket}"
            DeltaTable.forPath(self.session, self.path).optimize().where(where).executeCompaction()
        return len(due)

    def purge(self, table: str, before_s: int) -> None:
        kept = _stored_rows(drop_purgeable(self.latest_versions([table]), before_s))
        self.replace(kept, f"table = '{escaped(table)}'")


@contextmanager
def _transaction(session: SparkSession, batch: Batch | None) -> Iterator[None]:
    """Sets the id of the batch in the session, because MERGE has no options."""
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


def _stored_rows(versions: DataFrame) -> DataFrame:
    """Stored rows from one version of each place."""
    scope = F.col("scope")
    is_simple = scope.isin("live", "row") | ((scope == "cell") & F.col("path").isNull())
    name = F.when(scope == "cell", F.concat(F.lit(_COLUMN), "column")).otherwise(scope)

    def of_others(column: str) -> Column:
        return F.when(~is_simple, F.col(column)).alias(column)

    key = [
        *(F.col(each) for each in ("table", "bucket", "token", "pk", "ck")),
        F.when(is_simple, _SIMPLE).otherwise(scope).alias("scope"),
        *map(of_others, ("hi", "column", "path")),
    ]
    return versions.groupBy(*key).agg(
        F.map_from_entries(F.collect_list(F.struct(name, "win"))).alias("wins"),
        F.min("ckv").alias("ckv"),
    )


def _versions(rows: DataFrame) -> DataFrame:
    """The versions in stored rows."""
    is_simple = F.col("scope") == _SIMPLE
    is_column = F.col("name").startswith(_COLUMN)
    return (
        rows.select("*", F.explode("wins").alias("name", "win"))
        .select(
            *("table", "bucket", "token", "pk", "ck"),
            F.when(~is_simple, F.col("scope"))
            .when(is_column, "cell")
            .otherwise(F.col("name"))
            .alias("scope"),
            "hi",
            F.when(is_simple & is_column, F.expr(f"substring(name, {len(_COLUMN) + 1})"))
            .otherwise(F.col("column"))
            .alias("column"),
            "path",
            "win",
            "ckv",
        )
        .select(*COLUMNS)
    )
