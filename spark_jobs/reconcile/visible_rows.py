"""The rows that `SELECT *` shows at a second: raw, or with the columns and types of the table."""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.reconcile.merged import merged, merger_of
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore


def visible_rows(
    store: VersionStore, schema: SourceSchema, table: SourceTable, now_s: int
) -> DataFrame:
    """The visible rows at a second, with their live cells.

    The columns are `token`, `pk`, `ck`, `ckv`, `cells` and `statics`, as `Merger.rows_schema` lists
    them. `ck` is null in the single row of a partition that has only static values. The value of a
    counter is its sum, in eight bytes.
    """
    merger = merger_of(schema, table)
    rows = partial(merger.rows, now_s=now_s, truncated_us=store.truncated_us(table.id))
    return merged(store.rows(table.id), rows, merger.rows_schema)


def first_changes(
    store: VersionStore, schema: SourceSchema, table: SourceTable, now_s: int
) -> DataFrame:
    """The source table at a second as the changes of a first fill (`Merger.changes`).

    A row whose value has no typed form is `rejected`, with its key; `after` has each other row.
    """
    merger, truncated_us = merger_of(schema, table), store.truncated_us(table.id)
    changes = partial(
        merger.changes,
        before_s=now_s,
        after_s=now_s,
        before_truncated_us=truncated_us,
        after_truncated_us=truncated_us,
        each=False,
    )
    rows = store.rows(table.id).select("token", "event", "state", F.lit(True).alias("is_new"))
    return merged(rows, changes, merger.changes_schema)


def table_at(
    store: VersionStore, schema: SourceSchema, table: SourceTable, now_s: int
) -> DataFrame:
    """The source table at a second, with its columns and types, keys first.

    The reference of types lists the Spark type of each CQL type.
    """
    merger = merger_of(schema, table)
    typed = partial(merger.typed, now_s=now_s, truncated_us=store.truncated_us(table.id))
    return merged(store.rows(table.id), typed, merger.typed_schema).drop("cdc_row_id")
