"""Merges the rows that `SELECT *` shows at a second, with the table's columns and types."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import and_

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_jobs.column_names import ROW_ID, ColumnNameError
from spark_jobs.merge import Merger, ReadOptions
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.store.version_store import MERGED

Merge = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
MOST_REJECTED = 100
"""Maximum number of rejected rows that a job collects."""
_SHOWN = 5


def merger_of(schema: SourceSchema, table: SourceTable) -> Merger:
    """The merger of a source table. Raises `ColumnNameError` for the column `cdc_row_id`."""
    try:
        return Merger(schema.schema, table.keyspace, table.name, table_id=table.id)
    except ValueError as error:
        raise ColumnNameError(str(error)) from error


def typed_row(merger: Merger) -> StructType:
    """The columns of a source table, with their types."""
    typed = from_arrow_schema(merger.typed_schema)
    return StructType([field for field in typed if field.name != ROW_ID])


def merged(stored: DataFrame, merge: Merge, schema: pa.Schema) -> DataFrame:
    """Apply `merge`, a method of `Merger`, to stored rows in any order."""
    by_token = stored.repartition("token").sortWithinPartitions("token")
    return by_token.mapInArrow(merge, from_arrow_schema(schema))


def first_changes(stored: DataFrame, merger: Merger, options: ReadOptions) -> DataFrame:
    """Merge stored rows into changes from an empty table.

    A row with a value that has no typed form is `rejected`, with its key; others are in `after`.
    """
    rows = stored.select(*MERGED, F.lit(True).alias("is_new"))
    return merged(rows, partial(merger.first_changes, **options), merger.changes_schema)


def rows_that_differ(
    sides: Mapping[str, DataFrame], key: Sequence[str], content: Callable[[Column], Column]
) -> DataFrame:
    """The rows with different content in two results of `Merger.rows`, the values of `sides`.

    The columns are `key`, which ends with `ck`, and each side as a struct of `ckv`, `live` and
    `cells`, null for a missing row. The static values of a partition form a row with a null `ck`.
    `content` selects what is compared of such a struct.
    """
    left, right = (
        _with_statics(rows).select(*key, F.struct("ckv", "live", "cells").alias(name))
        for name, rows in sides.items()
    )
    both = left.alias("l").join(right.alias("r"), is_same_row("l", "r", key), "full")
    found = both.select(*(F.coalesce(f"l.{name}", f"r.{name}").alias(name) for name in key), *sides)
    one, other = (F.when(F.col(name).isNotNull(), content(F.col(name))) for name in sides)
    return found.where(~one.eqNullSafe(other))


def is_same_row(one: str, other: str, key: Sequence[str]) -> Column:
    """The condition of a join of two aliases. Null keys are equal."""
    return reduce(
        and_, (F.col(f"{one}.{name}").eqNullSafe(F.col(f"{other}.{name}")) for name in key)
    )


def _with_statics(rows: DataFrame) -> DataFrame:
    regular = rows.where(F.col("ck").isNotNull())
    statics = rows.where(F.size("statics") > 0).dropDuplicates(["token", "pk"])
    return regular.unionByName(
        statics.withColumns(
            {
                "ck": F.lit(None).cast("binary"),
                "live": F.lit(None).cast(rows.schema["live"].dataType),
                "cells": F.col("statics"),
            }
        )
    )


def write_typed(changes: DataFrame, write: Callable[[DataFrame], None]) -> tuple[int, list[str]]:
    """Write the visible rows of `first_changes`. Returns their number, and the rejected rows."""
    cached, counted = changes.persist(StorageLevel.DISK_ONLY), Observation()
    try:
        typed = cached.where(F.col("op").isNotNull()).select("after.*")
        write(typed.observe(counted, F.count(F.lit(1)).alias("rows")))
        rejected = cached.where(F.col("rejected").isNotNull()).select("rejected")
        left_out = [row["rejected"] for row in rejected.limit(MOST_REJECTED).collect()]
    finally:
        cached.unpersist()
    return counted.get["rows"], left_out


def left_out_text(rejected: Sequence[str]) -> str:
    """Text about rejected rows for a job's report; empty if there are none."""
    if not rejected:
        return ""
    count = f"{len(rejected)}" if len(rejected) < MOST_REJECTED else f"at least {len(rejected)}"
    shown = "; ".join(rejected[:_SHOWN])
    return f". Left out {count} rows whose values have no typed form: {shown}"


def table_at(
    store: VersionStore, schema: SourceSchema, table: SourceTable, now_s: int
) -> DataFrame:
    """The source table at a second, with its columns and types, keys first.

    docs/reference/types.md lists the Spark type of each CQL type.
    """
    merger = merger_of(schema, table)
    typed = partial(merger.typed, now_s=now_s, truncated_us=store.truncated_us(table.id))
    return merged(store.rows(table.id), typed, merger.typed_schema).drop("cdc_row_id")
