"""Conversions between Spark and `tests.oracle.algebra`: events in, rows out."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from tests.oracle.algebra import Row, RowKey, Tables, Value

EventValue = dict[str, Any]
Shown = dict[str, dict[RowKey, Row]]
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


def by_table(number_of: Mapping[str, int]) -> Column:
    """A column with a number for each table."""
    pairs = [F.lit(part) for pair in number_of.items() for part in pair]
    return F.create_map(*pairs)[F.col("table")]


def shown(visible: DataFrame) -> Shown:
    """The rows that Spark shows."""
    tables: Shown = {}
    for row in visible.collect():
        place = bytes(row["pk"]), None if row["ck"] is None else bytes(row["ck"])
        of_table = tables.setdefault(row["table"], {})
        assert place not in of_table, place
        of_table[place] = _values([*row["cells"], *row["statics"]])
    return tables


def expected(tables: Tables, now_s: int | Mapping[str, int]) -> Shown:
    """The rows that the algebra shows."""
    rows = {
        table_id: table.rows(now_s if isinstance(now_s, int) else now_s[table_id])
        for table_id, table in tables.by_id.items()
    }
    return {table_id: found for table_id, found in rows.items() if found}


def _values(cells: Iterable[SparkRow]) -> Row:
    values: dict[str, Value] = {}
    elements: dict[str, dict[bytes, bytes]] = {}
    for cell in cells:
        if cell["path"] is None:
            assert cell["column"] not in values
            values[cell["column"]] = bytes(cell["value"])
        else:
            of_column = elements.setdefault(cell["column"], {})
            assert bytes(cell["path"]) not in of_column
            of_column[bytes(cell["path"])] = bytes(cell["value"])
    return values | {column: tuple(sorted(paths.items())) for column, paths in elements.items()}
