"""The `cells` of events as text, with the columns of the store."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.source.cells import MISSING_CELLS, NOT_AN_EVENT, read_cells
from spark_jobs.source.counter_contexts import INVALID_CONTEXT
from tests.support.events.counter_events import LEADERS, context
from tests.support.spark.forms import EventValue, frame

PLACE = {"id": "c", "pk": "aw==", "token": -7}


def event(kind: str, **members: Any) -> EventValue:
    return {"cells": {"kind": kind} | PLACE | members}


def counter(raw: bytes) -> EventValue:
    cell = {"col": "n", "ts": 1, "val": b64encode(raw).decode()}
    return event("row", ck="", ckv=[], cell=[cell])


def test_events_become_rows_with_their_text(spark: SparkSession, tmp_path: Path) -> None:
    """Every other event has the schema of Connect's `JsonConverter`, and members before `cells`."""
    schema = {"type": "struct", "fields": [], "optional": False, "cells": "no member of this"}
    text = 'é"\\\n'
    values = [
        event("row", ck="", ckv=[], cell=[{"col": text, "ts": -(1 << 63), "val": None}]),
        event("row", ck="QAE=", ckv=["AQ=="], live={"ts": (1 << 63) - 1}),
        event("static", cell=[]),
        event("range", lo="", hi="QAE=", **{"del": {"ts": 1, "ldt": 2}}),
    ]
    wrapped = [{"schema": schema, "payload": {"op": "u"} | value} for value in values]
    for given in (values, wrapped):
        found = read_cells(frame(spark, tmp_path, given)).collect()
        assert [(row["table"], row["token"]) for row in found] == [("c", -7)] * len(values)
        assert [row["ck"] for row in found] == [b"", b"\x40\x01", None, None]
        assert [json.loads(row["event"]) for row in found] == values


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"op": "i", "after": {}}, MISSING_CELLS),
        ({"cells": {"kind": "row"}}, NOT_AN_EVENT),
        (counter(b""), INVALID_CONTEXT),
        (counter(b"\0\1\0\0"), INVALID_CONTEXT),
        (counter(b"\0\0\0"), INVALID_CONTEXT),
        (counter(b"\0\1\0\1" + bytes(32)), INVALID_CONTEXT),
    ],
    ids=["no cells", "no token", "empty context", "cut context", "odd context", "local shard"],
)
def test_an_invalid_value_fails_the_query(
    spark: SparkSession, tmp_path: Path, value: dict[str, Any], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        read_cells(frame(spark, tmp_path, [value]), counters=["c"]).collect()


def test_whole_contexts_are_valid(spark: SparkSession, tmp_path: Path) -> None:
    shards = [(leader, 1, 5) for leader in LEADERS]
    cell = {"col": "n", "ts": 1, "ldt": 3, "val": None}
    values = [
        *(counter(context(*shards[:count])) for count in range(3)),
        event("row", ck="", ckv=[], cell=[cell]),
        event("row", ck="", ckv=[], **{"del": {"ts": 1, "ldt": 2}}),
    ]
    assert read_cells(frame(spark, tmp_path, values), counters=["c"]).count() == len(values)


@pytest.mark.parametrize(
    "text", ["{", "no JSON", '{"cells": {"token": "x"}}', "Struct{ts_ms=1,op=i}"]
)
def test_a_value_that_is_not_an_event_fails_the_query(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    (tmp_path / "value").write_text(text)
    with pytest.raises(PySparkException, match=NOT_AN_EVENT):
        read_cells(spark.read.text(str(tmp_path))).collect()


def test_kafka_tombstones_are_skipped(spark: SparkSession) -> None:
    assert read_cells(spark.createDataFrame([(None,)], "value BINARY")).isEmpty()
