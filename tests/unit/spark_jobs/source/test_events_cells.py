"""The `cells` of events as text, with the columns of the store."""

import json
from base64 import b64encode
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.source.events import read_cells
from tests.support.events.counter_events import LEADERS, context
from tests.support.spark.forms import EventValue
from tests.support.spark.records import Record, frame

MISSING_CELLS = "has no `cells`. Set `event.cells=true` for the agents"
NOT_AN_EVENT = "is not an event of the supported format. Read only topics of the Cassandra agent"
INVALID_CONTEXT = "has a counter cell that is not a context with a total for each leader"
PLACE = {"id": "c", "pk": "aw==", "token": -7}


def event(kind: str, **members: Any) -> EventValue:
    return {"cells": {"kind": kind} | PLACE | members}


def counter(raw: bytes) -> EventValue:
    cell = {"col": "n", "ts": 1, "val": b64encode(raw).decode()}
    return event("row", ck="", ckv=[], cell=[cell])


def rows(spark: SparkSession, *values: Any, keep_invalid: bool = False) -> DataFrame:
    """The rows of values; a string is passed on as raw text."""
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    records = [Record(None, text.encode(), offset=n) for n, text in enumerate(texts)]
    return read_cells(frame(spark, records), counters=["c"], keep_invalid=keep_invalid)


def test_event_cells_become_store_rows(spark: SparkSession) -> None:
    """The second pass wraps events in the schema of Connect's `JsonConverter`."""
    schema = {"type": "struct", "fields": [], "optional": False, "cells": "no member of this"}
    shards = [(leader, 1, 5) for leader in LEADERS]
    values = [
        event("row", ck="", ckv=[], cell=[{"col": 'é"\\\n', "ts": -(1 << 63), "val": None}]),
        event("row", ck="QAE=", ckv=["AQ=="], live={"ts": (1 << 63) - 1}),
        event("static", cell=[]),
        event("range", lo="", hi="QAE=", **{"del": {"ts": 1, "ldt": 2}}),
        *(counter(context(*shards[:count])) for count in range(3)),
    ]
    wrapped = [{"schema": schema, "payload": {"op": "u"} | value} for value in values]
    for given in (values, wrapped):
        found = rows(spark, *given).collect()
        assert [(row["table"], row["token"]) for row in found] == [("c", -7)] * len(values)
        assert [row["ck"] for row in found] == [b"", b"\x40\x01", None, None, *[b""] * 3]
        assert [json.loads(row["event"]) for row in found] == values


INVALID = {
    "no cells": ({"op": "i", "after": {}}, MISSING_CELLS),
    "no token": ({"cells": {"kind": "row"}}, NOT_AN_EVENT),
    "empty context": (counter(b""), INVALID_CONTEXT),
    "cut context": (counter(b"\0\1\0\0"), INVALID_CONTEXT),
    "odd context": (counter(b"\0\0\0"), INVALID_CONTEXT),
    "local shard": (counter(b"\0\1\0\1" + bytes(32)), INVALID_CONTEXT),
    "open object": ("{", NOT_AN_EVENT),
    "no JSON": ("no JSON", NOT_AN_EVENT),
    "token as text": ('{"cells": {"token": "x"}}', NOT_AN_EVENT),
    "Connect's text": ("Struct{ts_ms=1,op=i}", NOT_AN_EVENT),
}


def test_invalid_cells_have_reasons(spark: SparkSession) -> None:
    given = [value for value, _ in INVALID.values()]
    found = rows(spark, *given, keep_invalid=True).orderBy("place").collect()
    assert [row["table"] for row in found] == [None] * len(given)
    for row, (_, message) in zip(found, INVALID.values(), strict=True):
        assert message in row["error"]


def test_invalid_cells_fail_query(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match=MISSING_CELLS):
        rows(spark, {"op": "i", "after": {}}).collect()


def test_kafka_tombstones_are_skipped(spark: SparkSession) -> None:
    assert read_cells(frame(spark, [Record(None, None)])).isEmpty()
