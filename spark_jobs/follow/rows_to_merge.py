"""The rows that determine the changes of a table between two positions.

The change feed of the store names the touched keys: an event with a clustering touches its row, any
other event its whole partition. Due values of the expiry index touch their keys too. The stored
rows of these keys at the earlier position come from one scan with broadcast joins, so only they and
the new events are exchanged afterwards.
"""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.follow.expiries import ExpiryIndex
from spark_jobs.follow.plan import ReadPlan
from spark_jobs.follow.position import Position
from spark_jobs.reconcile.source_table import SourceTable
from spark_jobs.reconcile.store import VersionStore

_MERGED = ("token", "event", "state")


def rows_to_merge(
    plan: ReadPlan,
    store: VersionStore,
    table: SourceTable,
    before: Position | None,
    after: Position,
    expiries: ExpiryIndex | None = None,
) -> DataFrame:
    """The rows of a plan, with `token`, `event`, `state` and `is_new`.

    The first fill reads all rows as new ones.
    """
    if before is None:
        rows = store.rows(table.id, after.store_version)
        return rows.select(*_MERGED, F.lit(True).alias("is_new"))
    stored = store.rows(table.id, before.store_version)
    new = None
    if plan.has_new:
        new = store.added(table.id, before.store_version, after.store_version)
    if plan.stored == "touched":
        touched = [] if new is None else [new.select("token", "ck")]
        if expiries is not None:
            touched.append(expiries.due(table.id, before.second, after.second))
        keys = reduce(DataFrame.unionByName, touched)
        stored = touched_rows(stored, keys, whole_partitions=table.has_statics)
    rows = stored.select(*_MERGED, F.lit(False).alias("is_new"))
    if new is None:
        return rows
    return rows.unionByName(new.select(*_MERGED, F.lit(True).alias("is_new")))


def touched_rows(stored: DataFrame, touched: DataFrame, *, whole_partitions: bool) -> DataFrame:
    """The stored rows of these keys: rows with an equal `ck`, and all that concerns a partition.

    `touched` has the columns `token` and `ck`; null touches all rows of a partition. With
    `whole_partitions` every key does: whether a partition shows its static values alone depends on
    all its rows.
    """
    is_whole = F.lit(True) if whole_partitions else F.col("ck").isNull()
    tokens = touched.groupBy("token").agg(F.max(is_whole).alias("is_whole"))
    found = stored.join(F.broadcast(tokens), "token")
    if whole_partitions:
        return found
    # A second join by equal keys. A condition in the first would compare every row of a large
    # partition with every key of it.
    keys = touched.where(F.col("ck").isNotNull()).distinct()
    flagged = F.broadcast(keys.withColumn("is_touched", F.lit(True)))
    is_found = F.col("is_whole") | F.col("ck").isNull() | F.col("is_touched").isNotNull()
    return found.join(flagged, ["token", "ck"], "left").where(is_found)
