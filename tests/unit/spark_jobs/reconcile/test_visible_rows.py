"""Spark shows the rows of `tests.oracle.algebra`, for many random tables in one run."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.expressions.counter import INVALID_CONTEXT
from spark_jobs.reconcile.versions import latest
from spark_jobs.reconcile.visible_rows import visible_rows
from spark_jobs.source.cells import MISSING_CELLS, NOT_AN_EVENT, read_cells
from tests.oracle.merge.event_strategies import event_values, one_cell_events
from tests.support.counter_events import counter_events
from tests.support.spark.forms import EventValue, expected, frame, named, shown
from tests.support.spark.merge_examples import examples, merged
from tests.support.spark.versions import to_versions

NOWS_S = range(9, 15)
TABLES = 400
BUCKETS = 3


def standing_of(frame: DataFrame, counters: Iterable[str] = ()) -> DataFrame:
    return latest(to_versions(read_cells(frame), BUCKETS, list(counters))).cache()


def test_spark_shows_the_rows_of_the_algebra(spark: SparkSession, tmp_path: Path) -> None:
    """Every table at every second, in one run."""
    values = examples(st.lists(event_values(), max_size=14) | one_cell_events(), TABLES)
    tables = merged(values)
    at_seconds = [
        named(f"{value['cells']['id']}@{now_s}", value) for value in values for now_s in NOWS_S
    ]
    versions = standing_of(frame(spark, tmp_path, at_seconds))
    now_s = F.substring_index("table", "@", -1).cast("bigint")
    assert shown(visible_rows(versions, now_s)) == {
        f"{table_id}@{second}": rows
        for second in NOWS_S
        for table_id, rows in expected(tables, second).items()
    }


def test_order_and_copies_do_not_matter(spark: SparkSession, tmp_path: Path) -> None:
    """Tripled and shuffled events give the same rows, cell by cell."""
    values = examples(st.lists(event_values(), max_size=14), 100)
    thrice = values * 3
    random.Random(10).shuffle(thrice)
    once = standing_of(frame(spark, tmp_path / "once", values))
    again = standing_of(frame(spark, tmp_path / "again", thrice))
    assert sorted(map(repr, once.collect())) == sorted(map(repr, again.collect()))


def test_a_schema_of_the_converter_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Every other event has the schema of Connect's `JsonConverter`."""
    values = examples(st.lists(event_values(), max_size=14), 100)
    schema = {"type": "struct", "fields": [], "optional": False, "cells": "no member of this"}
    mixed = [
        {"schema": schema, "payload": value} if at % 2 else value for at, value in enumerate(values)
    ]
    plain = standing_of(frame(spark, tmp_path / "plain", values))
    wrapped = standing_of(frame(spark, tmp_path / "wrapped", mixed))
    assert sorted(map(repr, plain.collect())) == sorted(map(repr, wrapped.collect()))


def test_drops_agree(spark: SparkSession, tmp_path: Path) -> None:
    dropped = {"a": 1, "m": 0, "s": 2}
    values = examples(st.lists(event_values(), max_size=14), 100)
    tables = merged(values)
    for table in tables.by_id.values():
        for column, ts_us in dropped.items():
            table.drop(column, ts_us)
    found = visible_rows(standing_of(frame(spark, tmp_path, values)), 11, dropped)
    assert shown(found) == expected(tables, 11)


def test_counters_agree(spark: SparkSession, tmp_path: Path) -> None:
    values = examples(st.lists(counter_events(), max_size=8), 200)
    counters = {value["cells"]["id"] for value in values}
    versions = standing_of(frame(spark, tmp_path, values * 2), counters)
    assert shown(visible_rows(versions, 0)) == expected(merged(values, counters), 0)


def _counter(context: str) -> EventValue:
    cell = {"col": "n", "ts": 1, "val": context}
    place = {"kind": "row", "id": "c", "pk": "aw==", "token": 1, "ck": "", "ckv": []}
    return {"cells": place | {"cell": [cell]}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"op": "i", "after": {}}, MISSING_CELLS),
        (_counter(""), INVALID_CONTEXT),
        (_counter("AAEAAA=="), INVALID_CONTEXT),
        (_counter("AAAA"), INVALID_CONTEXT),
    ],
    ids=["no cells", "empty context", "cut context", "odd context"],
)
def test_an_invalid_value_fails_the_query(
    spark: SparkSession, tmp_path: Path, value: dict[str, Any], message: str
) -> None:
    versions = to_versions(read_cells(frame(spark, tmp_path, [value])), BUCKETS, ["c"])
    with pytest.raises(PySparkException, match=message):
        versions.collect()


@pytest.mark.parametrize(
    "text", ["{", "no JSON", '{"cells": {"token": "x"}}', "Struct{ts_ms=1,op=i}"]
)
def test_a_value_that_is_not_an_event_fails_the_query(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    (tmp_path / "value").write_text(text)
    with pytest.raises(PySparkException, match=NOT_AN_EVENT):
        to_versions(read_cells(spark.read.text(str(tmp_path))), BUCKETS).collect()


def test_kafka_tombstones_are_skipped(spark: SparkSession) -> None:
    nothing = spark.createDataFrame([(None,)], "value BINARY")
    assert to_versions(read_cells(nothing), BUCKETS).isEmpty()
