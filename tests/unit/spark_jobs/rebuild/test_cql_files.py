"""Statements that restore the rows of a table to an earlier time."""

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import commitlog
from spark_jobs.merge import Merger
from spark_jobs.rebuild.cql_files import undo_statements
from spark_jobs.rebuild.statements import StatementWriter
from spark_jobs.rebuild.table_layout import table_layout
from tests.support.node.snapshot_rows import integer

ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
SCHEMA = commitlog.Schema.from_cql(
    "CREATE TABLE ks.t (k int, c int, s int static, v int, PRIMARY KEY (k, c)) "
    f"WITH ID = {ID} AND cdc = true;"
)
UNDO_US = 50


def cell(column: str, value: int, ts: int) -> dict[str, Any]:
    return {"column": column, "path": None, "ts": ts, "value": integer(value)}


def rows(spark: SparkSession, values: dict[int, tuple[int, int]], static: int) -> DataFrame:
    """Value and write time by clustering, in a partition with one static value."""
    found = [
        {
            "token": 1,
            "pk": integer(7),
            "ck": integer(c),
            "ckv": [integer(c)],
            "cells": [cell("v", value, ts)],
            "statics": [cell("s", static, 1)],
        }
        for c, (value, ts) in values.items()
    ]
    schema = Merger(SCHEMA, "ks", "t").rows_schema
    return spark.createDataFrame(pa.Table.from_pylist(found, schema))


def test_undo_statements_restore_rows_and_static_values(spark: SparkSession) -> None:
    """A different write time alone needs no statement."""
    now = rows(spark, {1: (10, 3), 2: (20, 3), 3: (30, 3)}, static=5)
    then = rows(spark, {1: (10, 2), 2: (21, 2), 4: (40, 2)}, static=6)
    writer = StatementWriter(table_layout(SCHEMA, ID), 100)
    found = undo_statements(now, then, writer, UNDO_US).collect()
    write = f'UPDATE "ks"."t" USING TIMESTAMP {UNDO_US} SET'
    assert sorted(row["statement"] for row in found) == [
        f'DELETE FROM "ks"."t" USING TIMESTAMP {UNDO_US} WHERE "k" = 7 AND "c" = 3;',
        f'{write} "s" = 6 WHERE "k" = 7;',
        f'{write} "v" = 21 WHERE "k" = 7 AND "c" = 2;',
        f'{write} "v" = 40 WHERE "k" = 7 AND "c" = 4;',
    ]
