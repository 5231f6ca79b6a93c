"""The identity of events and of cells."""

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.dedupe.identity import with_cell_identity
from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.dedupe.replica_copies import dedupe
from spark_jobs.error_mapping import mapped_error
from spark_jobs.errors import InputError
from spark_jobs.source.events import EVENT_COLUMNS, events
from tests.support.spark.records import Record, frame, headers_of

CELL = DedupeOptions(identity="cell")
TS = 1795277866260102


def event_id(number: int) -> bytes:
    return number.to_bytes(16)


def row(number: int, *cells: dict[str, Any], offset: int = 0, **members: Any) -> Record:
    """An event of a row with these cells."""
    content: dict[str, Any] = {"kind": "row", "id": "t", "pk": "AAAABw==", "ck": "QA==", **members}
    if "deleted" in members:
        content["del"] = content.pop("deleted")
    if cells:
        content["cell"] = list(cells)
    value = json.dumps({"op": "u", "cells": content}).encode()
    return Record(headers_of(event_id(number)), value, offset=offset)


def cell(name: str, *, ts: int = TS, value: str | None = "YQ==", **members: Any) -> dict[str, Any]:
    return {"col": name, "ts": ts, "val": value, **members}


def distinct_cells(spark: SparkSession, *records: Record) -> tuple[int, int]:
    """The number of cells in the records, and of distinct cells."""
    found = with_cell_identity(events(frame(spark, records)), "cell").select("cell").collect()
    assert {len(each.cell) for each in found} == {16}
    return len(found), len({bytes(each.cell) for each in found})


def test_every_part_of_a_cell_is_part_of_its_identity(spark: SparkSession) -> None:
    records = [
        row(1, cell("a")),
        row(2, cell("b")),
        row(3, cell("a", ts=TS + 1)),
        row(4, cell("a", value="Yg==")),
        row(5, cell("a", value="")),
        row(6, cell("a", value=None)),
        row(7, cell("a", ttl=5, ldt=9)),
        row(8, cell("a", ttl=6, ldt=9)),
        row(9, cell("a", path="AA==")),
        row(10, cell("a", path="AQ==")),
        row(11, cell("a"), id="u"),
        row(12, cell("a"), pk="AAAACA=="),
        row(13, cell("a"), ck=""),
        row(14, live={"ts": TS}),
        row(15, live={"ts": TS, "ttl": 5, "ldt": 9}),
        row(16, deleted={"ts": TS, "ldt": 1}),
        row(17, cdel=[{"col": "a", "ts": TS, "ldt": 1}]),
        row(18, kind="partition", ck=None, deleted={"ts": TS, "ldt": 1}),
        row(19, kind="range", ck=None, lo="AA==", hi="AQ==", deleted={"ts": TS, "ldt": 1}),
        row(20, kind="range", ck=None, lo="AA==", hi="Ag==", deleted={"ts": TS, "ldt": 1}),
    ]
    assert distinct_cells(spark, *records) == (len(records), len(records))


def test_a_schema_of_the_converter_is_not(spark: SparkSession) -> None:
    plain = row(1, cell("a"), cell("b"))
    assert plain.value is not None
    value = json.dumps({"schema": {"type": "struct"}, "payload": json.loads(plain.value)})
    assert distinct_cells(spark, plain, Record(plain.headers, value.encode())) == (4, 2)


def test_local_deletion_times_are_not(spark: SparkSession) -> None:
    records = [
        row(1, cell("a", value=None, ldt=1), cell("b", ttl=5, ldt=6), live={"ts": TS, "ldt": 3}),
        row(1, cell("a", value=None, ldt=2), cell("b", ttl=5, ldt=7), live={"ts": TS, "ldt": 4}),
    ]
    assert distinct_cells(spark, *records) == (6, 3)


@pytest.mark.parametrize("options", [DedupeOptions(), CELL], ids=lambda o: o.identity)
def test_one_copy_of_each_stays_unchanged(spark: SparkSession, options: DedupeOptions) -> None:
    copies = [
        Record(each.headers, each.value, key, partition=partition, offset=offset)
        for key, each in ((b"1", row(1, cell("a"), cell("b"))), (b"2", row(2, cell("c"))))
        for offset, partition in enumerate((0, 1, 2, 0, 1, 2, 0))
    ]
    copies.append(row(3, cell("d")))
    found = dedupe(events(frame(spark, copies)), options)
    assert tuple(found.columns) == EVENT_COLUMNS
    rows = sorted(found.collect(), key=lambda each: bytes(each.id))
    assert [(bytes(each.id), each.value) for each in rows] == [
        (event_id(1), copies[0].value),
        (event_id(2), copies[7].value),
        (event_id(3), copies[14].value),
    ]


@pytest.mark.parametrize("options", [DedupeOptions(), CELL], ids=lambda o: o.identity)
def test_a_tombstone_is_not_a_copy_of_its_delete(
    spark: SparkSession, options: DedupeOptions
) -> None:
    delete = row(1, deleted={"ts": TS, "ldt": 1})
    tombstone = Record(delete.headers, None)
    found = dedupe(events(frame(spark, [delete, tombstone] * 3)), options).collect()
    assert sorted((each.value for each in found), key=bool) == [None, delete.value]


def test_invalid_records_are_never_copies_of_each_other(spark: SparkSession) -> None:
    records = [Record(None, b"x", offset=n) for n in range(3)] + [row(1, cell("a"))] * 2
    found = events(frame(spark, records), keep_invalid=True)
    assert dedupe(found).count() == 4
    assert dedupe(found, CELL).count() == 4


def test_events_without_a_value_are_identified_by_id(spark: SparkSession) -> None:
    records = [Record(headers_of(event_id(n)), b'{"op":"u"}') for n in (1, 2, 1, 2)]
    assert dedupe(events(frame(spark, records))).count() == 2


@pytest.mark.parametrize(
    "value",
    [
        b'{"op":"u"}',
        b"not JSON",
        b'{"cells":{"kind":"row","pk":"AA=="}}',
        b'{"cells":{"pk":"AA==","cell":[{"col":"a","val":"AA=="}]}}',
        b'{"cells":{"pk":"AA==","cell":[{"ts":1,"val":"AA=="}]}}',
    ],
)
def test_invalid_cells_fail_the_query(spark: SparkSession, value: bytes) -> None:
    records = [row(1, cell("a")), Record(headers_of(event_id(2)), value, offset=5)]
    with pytest.raises(PySparkException) as raised:
        dedupe(events(frame(spark, records)), CELL).collect()
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError)
    assert str(fault).startswith("The record shop.orders/0/5 has no valid `cells`")
