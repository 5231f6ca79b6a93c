"""What is wrong is found: each check is shown a fault of its kind."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.integration.spark.golden.events import (
    DedupedRow,
    Published,
    distinct_cells,
    events_by_log_count,
    wrong_deduped_cells,
    wrong_ids,
    wrong_records,
    wrong_rows,
)
from tests.integration.spark.golden.logged_events import LoggedEvent, Place, logged_events
from tests.support.events.expected_events import Json

TABLE = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"


def cell(ts: int, ldt: int | None, val: str | None) -> Json:
    return {"col": "v", "path": None, "kind": "", "ts": ts, "ttl": None, "ldt": ldt, "val": val}


def line(items: list[Json], pos: int = 100, **members: Any) -> Json:
    whole = {"segment": "CommitLog-7-1.log", "pos": pos, "update": 0, "updates": 1, "id": TABLE}
    return {**whole, "key": "00000001", "del": None, "static": None, "items": items, **members}


def row(*cells: Json) -> Json:
    return {"t": "row", "ck": ["02"], "live": None, "del": None, "cdel": [], "cells": [*cells]}


def bound(kind: str, ck: list[str], **members: Any) -> Json:
    return {"t": "boundary" if "END_" in kind and "START" in kind else "bound", "kind": kind} | {
        "ck": ck,
        **members,
    }


WRITTEN = row(cell(5, None, "aa"))
TOMBSTONE = row(cell(6, 60, None))


def logs_of(**lines: Iterable[Json]) -> dict[Place, LoggedEvent]:
    return {
        place: event
        for node, found in lines.items()
        for place, event in logged_events(node, found).items()
    }


LOGS = logs_of(
    node1=[line([WRITTEN]), line([TOMBSTONE], pos=200)],
    node2=[line([WRITTEN], pos=300)],
)


def record(place: Place, event: LoggedEvent, event_id: bytes, offset: int) -> Published:
    value = {"op": event.op, "source": {"ts_us": event.ts_us}, "cells": {**event.cells, "ck": "Ag"}}
    return Published(("t", 0, offset), place, event_id, b"{}", orjson.dumps(value))


IDS = (b"a", b"b", b"a")
RECORDS = [
    record(place, event, event_id, offset)
    for offset, ((place, event), event_id) in enumerate(zip(LOGS.items(), IDS, strict=True))
]
ROWS = [DedupedRow(each.at, each.event_id, each.key, each.value) for each in RECORDS[:2]]


def test_valid_pages_have_no_findings() -> None:
    repeated = [*RECORDS, replace(RECORDS[0], at=("t", 0, 9))]
    assert list(wrong_records(repeated, LOGS)) == []
    assert list(wrong_ids(repeated, LOGS)) == []
    assert list(wrong_rows(ROWS, repeated, LOGS)) == []
    assert events_by_log_count(LOGS) == {2: 1, 1: 1}


def test_attempts_and_copies_are_one_event() -> None:
    again = logs_of(node1=[line([row(cell(6, 62, None))])])
    assert [each.canonical for each in again.values()] == [list(LOGS.values())[1].canonical]


@pytest.mark.parametrize(
    "other",
    [
        line([row(cell(5, None, "ab"))]),
        line([row(cell(5, None, None))]),
        line([row(cell(7, None, "aa"))]),
        line([WRITTEN], key="00000002"),
        line([{**WRITTEN, "ck": ["03"]}]),
        line([{**WRITTEN, "live": {"ts": 5, "ttl": None, "ldt": None}}]),
        line([], static={**WRITTEN}),
    ],
)
def test_another_content_is_another_event(other: Json) -> None:
    (event,) = logged_events("node1", [other]).values()
    assert event.canonical not in {each.canonical for each in LOGS.values()}


def test_ranges_have_their_bounds() -> None:
    deletion = {"ts": 1, "ldt": 2}
    markers = [
        bound("INCL_START_BOUND", ["01"], **{"del": deletion}),
        bound("EXCL_END_INCL_START_BOUNDARY", ["02"], close=deletion, open={"ts": 3, "ldt": 2}),
        WRITTEN,
        bound("INCL_END_BOUND", [], **{"del": {"ts": 3, "ldt": 2}}),
    ]
    found = list(logged_events("node1", [line(markers)]).items())
    assert [(place.number, event.kind) for place, event in found] == [
        (0, "range"),
        (1, "range"),
        (2, "row"),
    ]
    shorter = [*markers[:3], bound("EXCL_END_BOUND", ["02"], **{"del": {"ts": 3, "ldt": 2}})]
    others = list(logged_events("node1", [line(shorter)]).values())
    assert others[0].canonical == found[0][1].canonical
    assert others[1].canonical != found[1][1].canonical


def test_records_that_are_wrong() -> None:
    (lost,) = wrong_records(RECORDS[1:], LOGS)
    assert "in a log and in no topic" in lost
    strange = replace(RECORDS[0], place=Place("node3", 1, 1, 0))
    (invented,) = wrong_records([*RECORDS, strange], LOGS)
    assert "in a topic and in no log" in invented
    other = replace(RECORDS[0], value=RECORDS[1].value)
    (changed,) = wrong_records([other, *RECORDS[1:]], LOGS)
    assert "and Cassandra" in changed


def test_ids_that_are_wrong() -> None:
    assert any("2 events" in each for each in wrong_ids([*RECORDS[:1], _named(1, b"a")], LOGS))
    assert any("2 ids" in each for each in wrong_ids([*RECORDS[:1], _named(2, b"c")], LOGS))


def _named(number: int, event_id: bytes) -> Published:
    return replace(RECORDS[number], event_id=event_id)


def test_rows_that_are_wrong() -> None:
    third = RECORDS[2]
    copy = DedupedRow(third.at, third.event_id, third.key, third.value)
    for rows, fault in (
        ([*ROWS, copy], "2 rows are of the event"),
        (ROWS[:1], "no row is of the event"),
        ([*ROWS, replace(ROWS[0], at=("t", 1, 0))], "a row and no record"),
        ([replace(ROWS[0], value=b"{}"), ROWS[1]], "changed on its way"),
    ):
        assert any(fault in each for each in wrong_rows(rows, RECORDS, LOGS)), fault


def test_cells_that_are_wrong() -> None:
    # Both cells of the first two records bundled anew, as a repair does.
    whole = {**LOGS[RECORDS[0].place].cells, "ck": "Ag"}
    both = [each for place in list(LOGS)[:2] for each in LOGS[place].cells["cell"]]
    value = orjson.dumps({"cells": {**whole, "cell": both}})
    bundle = replace(RECORDS[0], at=("t", 0, 7), event_id=b"c", value=value)
    records = [*RECORDS, bundle]
    bundled = DedupedRow(bundle.at, bundle.event_id, bundle.key, bundle.value)
    assert len(distinct_cells(records)) == 2
    assert list(wrong_deduped_cells(ROWS, records)) == []
    assert list(wrong_deduped_cells([bundled], records)) == []
    copy = DedupedRow(RECORDS[2].at, RECORDS[2].event_id, RECORDS[2].key, RECORDS[2].value)
    for rows, fault in (
        (ROWS[:1], "no row has the cell"),
        ([*ROWS, copy], "2 rows are of the event"),
        ([replace(ROWS[0], at=("t", 1, 0)), bundled], "is no record as it was sent"),
        ([replace(ROWS[0], value=value), ROWS[1]], "is no record as it was sent"),
    ):
        assert any(fault in each for each in wrong_deduped_cells(rows, records)), fault
