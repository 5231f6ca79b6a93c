"""Finds the changes to a table's visible rows between two positions."""

from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.follow.comparison import compared
from spark_jobs.follow.delta_tables import ExpiryIndex
from spark_jobs.follow.plan import Position, ReadPlan, plan_read
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.store.version_store import MERGED
from spark_jobs.reconcile.visible_rows import merged, merger_of


def rows_to_merge(
    plan: ReadPlan,
    store: VersionStore,
    table: SourceTable,
    before: Position | None,
    after: Position,
    expiries: ExpiryIndex | None = None,
) -> DataFrame:
    """The rows that a plan reads, with `token`, `event`, `state` and `is_new`.

    New events determine the touched keys: an event with a clustering key touches its row, any other
    event its whole partition. Due entries of the expiry index touch their keys too. One scan with
    broadcast joins finds the stored rows of these keys at the earlier position, so only these rows
    and the new events are shuffled. The first fill reads all rows as new.
    """
    if before is None:
        rows = store.rows(table.id, after.store_version)
        return rows.select(*MERGED, F.lit(True).alias("is_new"))
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
    rows = stored.select(*MERGED, F.lit(False).alias("is_new"))
    if new is None:
        return rows
    return rows.unionByName(new.select(*MERGED, F.lit(True).alias("is_new")))


def touched_rows(stored: DataFrame, touched: DataFrame, *, whole_partitions: bool) -> DataFrame:
    """The stored rows of touched keys: rows with an equal `ck`, and the partition level.

    `touched` has the columns `token` and `ck`; a null `ck` touches all rows of a partition. With
    `whole_partitions`, every key does: a partition shows a row with only static values if it has
    no other visible row.
    """
    is_whole = F.lit(True) if whole_partitions else F.col("ck").isNull()
    tokens = touched.groupBy("token").agg(F.max(is_whole).alias("is_whole"))
    found = stored.join(F.broadcast(tokens), "token")
    if whole_partitions:
        return found
    # A separate join on equal keys. A condition in the first join would compare every row of a
    # large partition with every touched key in it.
    keys = touched.where(F.col("ck").isNotNull()).distinct()
    flagged = F.broadcast(keys.withColumn("is_touched", F.lit(True)))
    is_found = F.col("is_whole") | F.col("ck").isNull() | F.col("is_touched").isNotNull()
    return found.join(flagged, ["token", "ck"], "left").where(is_found)


def changes_between(
    store: VersionStore,
    schema: SourceSchema,
    table: SourceTable,
    before: Position | None,
    after: Position,
    *,
    each: bool,
    expiries: ExpiryIndex | None = None,
    earlier_schema: SourceSchema | None = None,
) -> DataFrame:
    """The changes of a table, with the columns of `spark_jobs.merge.Merger.changes_schema`.

    The `before` of a change is the row at the position `before`; None means an empty table. With
    `each`, every write time yields a change; otherwise a row has at most one net change. A first
    fill always yields net changes. Without `expiries`, changes only by expiry are missing.

    With `earlier_schema`, that schema determines the rows at `before`, and all rows of the table
    are compared (`spark_jobs.follow.comparison`).
    """
    if earlier_schema is not None and before is not None:
        (earlier,) = (each for each in earlier_schema.tables if each.id == table.id)
        old = changes_between(store, earlier_schema, earlier, None, before, each=False)
        new = changes_between(store, schema, table, None, after, each=False)
        return compared(old, new, len(table.key), after.second)
    commits = () if before is None else store.commits_after(before.store_version)
    plan = plan_read(table.id, before, after, commits, has_due=expiries is not None)
    if plan is None:
        return no_changes(store, schema, table)
    return planned_changes(
        *(plan, store, schema, table, before, after),
        each=each,
        truncated_us=store.truncated_us(table.id, after.store_version),
        expiries=expiries,
    )


def no_changes(store: VersionStore, schema: SourceSchema, table: SourceTable) -> DataFrame:
    """An empty frame with the columns of a table's changes."""
    columns = from_arrow_schema(merger_of(schema, table).changes_schema)
    return store.session.createDataFrame([], columns)


def planned_changes(
    plan: ReadPlan,
    store: VersionStore,
    schema: SourceSchema,
    table: SourceTable,
    before: Position | None,
    after: Position,
    *,
    each: bool,
    truncated_us: int | None,
    expiries: ExpiryIndex | None = None,
) -> DataFrame:
    """The changes of a table, read according to `plan`. `truncated_us` is its latest truncation."""
    merger = merger_of(schema, table)
    before_us = truncated_us
    if before is not None and plan.stored == "all":
        before_us = store.truncated_us(table.id, before.store_version)
    changes = partial(
        merger.changes,
        before_s=after.second if before is None else before.second,
        after_s=after.second,
        before_truncated_us=before_us,
        after_truncated_us=truncated_us,
        each=each and before is not None,
    )
    rows = rows_to_merge(plan, store, table, before, after, expiries)
    return merged(rows, changes, merger.changes_schema)
