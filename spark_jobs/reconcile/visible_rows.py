"""The rows that `SELECT *` shows at a second: raw, or with the columns and types of the table."""

from functools import partial

from pyspark.sql import DataFrame

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


def table_at(
    store: VersionStore, schema: SourceSchema, table: SourceTable, now_s: int
) -> DataFrame:
    """The source table at a second, with its columns and types, keys first.

    The reference of types lists the Spark type of each CQL type.
    """
    merger = merger_of(schema, table)
    typed = partial(merger.typed, now_s=now_s, truncated_us=store.truncated_us(table.id))
    return merged(store.rows(table.id), typed, merger.typed_schema).drop("cdc_row_id")
