"""The identity of events and of cells."""

import copy
import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.dedupe.options import DedupeOptions
from spark_jobs.dedupe.replica_copies import dedupe, with_cell_identity
from spark_jobs.errors import InputError, mapped_error
from spark_jobs.source.events import EVENT_COLUMNS, events
from tests.support.segments.segment_reading import Event
from tests.support.spark.recorded import NODES, read, record
from tests.support.spark.records import Record, event_id, frame, headers_of
from tests.unit.spark_jobs.merge import test_recordings as cases

CELL = DedupeOptions(identity="cell")
TS = 1795277866260102


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


PLAIN = row(1, cell("a"), cell("b"))
DELETE = row(4, deleted={"ts": TS, "ldt": 1})
DIFFERENT = [
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


def with_schema(record: Record) -> Record:
    """The record in the format of Connect's `JsonConverter`."""
    payload = json.loads(record.value or b"")
    return replace(record, value=json.dumps({"schema": {}, "payload": payload}).encode())


@pytest.mark.parametrize(
    ("records", "distinct"),
    [
        pytest.param(DIFFERENT, len(DIFFERENT), id="every part of a cell counts"),
        pytest.param([PLAIN, with_schema(PLAIN)], 2, id="a schema of the converter does not"),
        pytest.param(
            [
                row(
                    1,
                    cell("a", value=None, ldt=1),
                    cell("b", ttl=5, ldt=6),
                    live={"ts": TS, "ldt": 3},
                ),
                row(
                    1,
                    cell("a", value=None, ldt=2),
                    cell("b", ttl=5, ldt=7),
                    live={"ts": TS, "ldt": 4},
                ),
            ],
            3,
            id="local deletion times do not",
        ),
    ],
)
def test_cell_identity_covers_every_part(
    spark: SparkSession, records: Sequence[Record], distinct: int
) -> None:
    found = with_cell_identity(events(frame(spark, records)), "cell").select("cell").collect()
    assert {len(each.cell) for each in found} == {16}
    assert len({bytes(each.cell) for each in found}) == distinct
    assert len(found) == (distinct if records is DIFFERENT else 2 * distinct)


@pytest.mark.parametrize("options", [DedupeOptions(), CELL], ids=lambda o: o.identity)
def test_dedupe_leaves_one_unchanged_copy(spark: SparkSession, options: DedupeOptions) -> None:
    """A tombstone does not count as a copy of its delete, and invalid records are never copies."""
    copies = [
        replace(each, key=key, partition=partition, offset=offset)
        for key, each in ((b"1", PLAIN), (b"2", row(2, cell("c"))))
        for offset, partition in enumerate((0, 1, 2, 0, 1, 2, 0))
    ]
    single = row(3, cell("d"))
    tombstone = replace(DELETE, value=None)
    invalid = [Record(None, b"x", offset=n) for n in range(3)]
    records = [*copies, single, *[DELETE, tombstone] * 3, *invalid]
    found = dedupe(events(frame(spark, records), keep_invalid=True), options)
    assert tuple(found.columns) == (*EVENT_COLUMNS, "error")
    rows = [(each.id and bytes(each.id), each.value) for each in found.collect()]
    assert sorted(rows, key=repr) == sorted(
        [
            (event_id(1), copies[0].value),
            (event_id(2), copies[7].value),
            (event_id(3), single.value),
            (event_id(4), DELETE.value),
            (event_id(4), None),
            *[(None, b"x")] * 3,
        ],
        key=repr,
    )


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
def test_invalid_cells_fail_query(spark: SparkSession, value: bytes) -> None:
    records = [PLAIN, Record(headers_of(event_id(2)), value, offset=5)]
    with pytest.raises(PySparkException) as raised:
        with_cell_identity(events(frame(spark, records)), "cell").collect()
    fault = mapped_error(raised.value)
    assert isinstance(fault, InputError)
    assert str(fault).startswith("The record shop.orders/0/5 has no valid `cells`")


RECORDINGS = ("5.0/ttl", "5.0/deletions", "5.0/collections")
EventValue = dict[str, Any]


def list_attempts(values: list[EventValue]) -> Iterator[EventValue]:
    """When a coordinator retries, it creates new ids for list elements."""
    for value in copy.deepcopy(values):
        elements = [each for each in value["cells"].get("cell", ()) if _is_time_uuid(each)]
        for cell in elements:
            cell["path"] = b64encode(bytes(8) + b64decode(cell["path"])[8:]).decode()
        if elements:
            yield value


def later_attempts(values: list[EventValue]) -> Iterator[EventValue]:
    """When a coordinator retries, it sets a new write time."""
    for value in copy.deepcopy(values):
        cells = value["cells"]
        single = [cells.get("live"), cells.get("del")]
        for member in filter(None, [*single, *cells.get("cell", ()), *cells.get("cdel", ())]):
            member["ts"] += 2_000_000
        yield value


def _is_time_uuid(cell: EventValue) -> bool:
    path = b64decode(cell.get("path", ""))
    return len(path) == 16 and path[6] >> 4 == 1


Case = Callable[[list[EventValue]], Iterable[EventValue]]
DROPPED: tuple[Case, ...] = (cases.attempts, cases.bundles)
NEW: tuple[Case, ...] = (
    cases.range_pieces,
    cases.expired_as_tombstones,
    list_attempts,
    later_attempts,
)


def test_repeated_writes_yield_known_cells(spark: SparkSession) -> None:
    recorded = [event for folder in RECORDINGS for event in read(folder, NODES[0])]
    values = [event.value for event in recorded]
    headers = recorded[0].headers
    records = [record(event, "recorded") for event in recorded]
    for case in (*DROPPED, *NEW):
        records += [record(Event("", {}, value, headers), case.__name__) for value in case(values)]
    cells: defaultdict[str, set[bytes]] = defaultdict(set)
    for row in with_cell_identity(events(frame(spark, records)), "cell").collect():
        cells[row.topic].add(bytes(row.cell))
    for case in DROPPED:
        assert cells[case.__name__] <= cells["recorded"], case
    for case in NEW:
        assert cells[case.__name__] - cells["recorded"], case
