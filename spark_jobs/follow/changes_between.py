"""The changes of the visible rows of a table between two positions."""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.follow.comparison import compared
from spark_jobs.follow.expiries import ExpiryIndex
from spark_jobs.follow.plan import ReadPlan, plan_read
from spark_jobs.follow.position import Position
from spark_jobs.follow.rows_to_merge import rows_to_merge
from spark_jobs.reconcile.merged import merged, merger_of
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore


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
    """The changes of a table, with the columns of `commitlog.merge.Merger.changes_schema`.

    `before` of a change is what is visible at the position `before`; None means nothing. `each`
    gives one change for each write time, otherwise a row has at most one net change. A first fill
    always has net changes. Without `expiries`, changes by expiry alone are missing.

    With `earlier_schema`, the rows at `before` are those that this schema shows, and all rows of
    the table are compared (`spark_jobs.follow.comparison`).
    """
    if earlier_schema is not None and before is not None:
        (earlier,) = (each for each in earlier_schema.tables if each.id == table.id)
        old = changes_between(store, earlier_schema, earlier, None, before, each=False)
        new = changes_between(store, schema, table, None, after, each=False)
        keys = len(merger_of(schema, table).typed_schema) - 1 - len(table.columns)
        return compared(old, new, keys, after.second)
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
    """No rows, with the columns of changes of a table."""
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
    """The changes of a table, read as `plan` says. It is truncated up to `truncated_us`."""
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
