"""Conversions between Spark and `tests.oracle.algebra`: events in, rows out."""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.selected_tables import select_tables
from spark_jobs.reconcile.source_table import SourceSchema, SourceTable
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import merged, merger_of
from tests.oracle.algebra import Row, RowKey, Tables
from tests.support.events.merge_batches import values_of

EventValue = dict[str, Any]
Rows = dict[RowKey, Row]
Shown = dict[str, Rows]
"""Rows by table id, without empty tables."""


def named(table_id: str, value: Mapping[str, Any]) -> EventValue:
    """The value of an event, moved to this table."""
    return {**value, "cells": {**value["cells"], "id": table_id}}


def frame(spark: SparkSession, folder: Path, values: Iterable[EventValue]) -> DataFrame:
    """A DataFrame of events, as Spark reads them from a topic."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "values.ndjson"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return spark.read.text(str(path)).withColumn("value", F.col("value").cast("binary"))


def filled_store(
    spark: SparkSession,
    folder: Path,
    schema: SourceSchema,
    values: Iterable[EventValue],
    *,
    buckets: int = 1,
) -> VersionStore:
    """A version store `store` in the folder, with these events."""
    store = VersionStore(spark, str(folder / "store"), buckets=buckets)
    reconcile(frame(spark, folder / "events", values), store, select_tables(schema))
    return store


def visible_rows(
    store: VersionStore, schema: SourceSchema, table: SourceTable, now_s: int
) -> DataFrame:
    """The visible rows at a second, with the columns of `Merger.rows_schema`."""
    merger = merger_of(schema, table)
    rows = partial(merger.rows, now_s=now_s, truncated_us=store.truncated_us(table.id))
    return merged(store.rows(table.id), rows, merger.rows_schema)


def shown_rows(visible: DataFrame) -> Rows:
    """The rows of a table that Spark shows."""
    rows: Rows = {}
    for row in visible.collect():
        place = bytes(row["pk"]), None if row["ck"] is None else bytes(row["ck"])
        assert place not in rows, place
        rows[place] = values_of([*row["cells"], *row["statics"]])
    return rows


def shown(
    store: VersionStore, schema: SourceSchema, now_s: int, tables: Collection[str] | None = None
) -> Shown:
    """The rows that Spark shows, of all tables of a schema or of those with these ids."""
    found = {
        table.id: shown_rows(visible_rows(store, schema, table, now_s))
        for table in schema.tables
        if tables is None or table.id in tables
    }
    return {table_id: rows for table_id, rows in found.items() if rows}


def expected(tables: Tables, now_s: int | Mapping[str, int]) -> Shown:
    """The rows that the algebra shows."""
    rows = {
        table_id: table.rows(now_s if isinstance(now_s, int) else now_s[table_id])
        for table_id, table in tables.by_id.items()
    }
    return {table_id: found for table_id, found in rows.items() if found}
