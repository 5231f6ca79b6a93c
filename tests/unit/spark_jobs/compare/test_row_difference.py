"""Causes of a difference between a live row and a stored row."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.compare.digests import OLDEST_US, ComparedColumns
from spark_jobs.compare.row_difference import (
    Cause,
    ReadTimes,
    is_truncation,
    row_differences,
    worst,
)

FROM_US, TO_US = 1_000_000_000, 1_010_000_000
SETTLED = ReadTimes(FROM_US, TO_US, TO_US)
UNSETTLED = (ReadTimes(FROM_US, TO_US), ReadTimes(FROM_US, TO_US, TO_US - 1))
COLUMNS = ComparedColumns(lists={"l"}, single={"v", "w"})
PATHS = [bytes([0, 0, 0, number, 0, 0, 0x10, 0, 0x80, *bytes(7)]) for number in range(4)]


def cell(
    column: str, ts: int, value: bytes = b"a", *, path: bytes | None = None, ldt: int | None = None
) -> dict[str, Any]:
    return {"column": column, "path": path, "ts": ts, "ldt": ldt, "value": value}


def row(*cells: dict[str, Any], marker: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"live": marker, "cells": list(cells)}


def causes(live: Any, store: Any, times: ReadTimes = SETTLED) -> dict[str | None, Cause]:
    return {each.column: each.cause for each in row_differences(live, store, times, COLUMNS)}


def marked(ts: int, ldt: int | None = None) -> dict[str, Any]:
    return row(marker={"ts": ts, "ldt": ldt})


V, LOSS, LOST = cell("v", 5), Cause.LOSS, Cause.LOST_DELETE
AFTER, EXPIRED = Cause.WRITTEN_AFTER, Cause.EXPIRED
TO_S = TO_US // 1_000_000
# Live row, stored row, and the cause by column.
SETTLED_CASES: dict[str, tuple[Any, Any, dict[str | None, Cause]]] = {
    "a dropped event": (row(V), None, {"v": LOSS}),
    "an older value": (row(V), row(cell("v", 4)), {"v": LOSS}),
    "a column nulled": (row(V, cell("w", 5)), row(cell("w", 5)), {"v": LOSS}),
    "an element": (row(cell("s", 5, path=b"x")), row(), {"s": LOSS}),
    "an element without a write time": (
        row(cell("s", OLDEST_US, b"1", path=b"x")),
        row(cell("s", 5, b"2", path=b"x")),
        {"s": LOSS},
    ),
    "a counter": (row(cell("n", OLDEST_US, b"2")), row(cell("n", 5, b"1")), {"n": LOSS}),
    "a counter after the read": (
        row(cell("n", OLDEST_US, b"2")),
        row(cell("n", FROM_US, b"3")),
        {"n": AFTER},
    ),
    "a row with only a key": (row(), None, {None: LOSS}),
    "a lost deletion": (None, row(V), {"v": LOST}),
    "a lost deletion of a key": (None, marked(5), {None: LOST}),
    "a lost deletion of a column": (row(), row(V), {"v": LOST}),
    "two values": (row(V), row(cell("v", 5, b"b")), {"v": Cause.DIFFERENT_VALUE}),
    "a replica behind": (row(V), row(cell("v", 6)), {"v": Cause.NOT_READ}),
    "a write after the read": (row(V), row(cell("v", FROM_US)), {"v": AFTER}),
    "a row after the read": (None, row(cell("v", FROM_US)), {"v": AFTER}),
    "a key after the read": (None, marked(FROM_US), {None: AFTER}),
    "expired": (None, row(cell("v", 5, ldt=TO_S)), {"v": EXPIRED}),
    "expires later": (None, row(cell("v", 5, ldt=TO_US)), {"v": LOST}),
    "an expired key": (None, marked(5, TO_S), {None: EXPIRED}),
    "an element of a list removed": (
        row(cell("l", 6, path=PATHS[0])),
        row(cell("l", 5, path=PATHS[1]), cell("l", 5, path=PATHS[2])),
        {"l": LOSS},
    ),
    "a list written after": (
        row(cell("l", 6, path=PATHS[0])),
        row(cell("l", FROM_US, b"b", path=PATHS[1])),
        {"l": AFTER},
    ),
    "a list deleted": (row(), row(cell("l", 5, path=PATHS[1])), {"l": LOST}),
}


@pytest.mark.parametrize("case", SETTLED_CASES)
def test_row_difference_causes_with_complete_store(case: str) -> None:
    live, store, expected = SETTLED_CASES[case]
    assert causes(live, store) == expected


@pytest.mark.parametrize("times", UNSETTLED)
@pytest.mark.parametrize("case", SETTLED_CASES)
def test_incomplete_store_reports_no_loss(case: str, times: ReadTimes) -> None:
    live, store, settled = SETTLED_CASES[case]
    later = {Cause.LOSS, Cause.LOST_DELETE}
    expected = {
        column: Cause.NOT_THERE_YET if cause in later else cause
        for column, cause in settled.items()
    }
    assert causes(live, store, times) == expected


EQUAL_CASES = {
    "the same": (row(V), row(V)),
    "row markers": (marked(OLDEST_US), row()),
    "write times of elements": (row(cell("s", OLDEST_US, path=b"x")), row(cell("s", 5, path=b"x"))),
    "write times of counters": (row(cell("n", OLDEST_US, b"1")), row(cell("n", 5, b"1"))),
    "positions in lists": (
        row(cell("l", 6, b"1", path=PATHS[0]), cell("l", 6, b"2", path=PATHS[1])),
        row(cell("l", 5, b"2", path=PATHS[3]), cell("l", 5, b"1", path=PATHS[2])),
    ),
    "expiry": (row(cell("v", 5, ldt=7)), row(cell("v", 5, ldt=8))),
}


@pytest.mark.parametrize("case", EQUAL_CASES)
def test_values_hidden_by_cql_are_no_difference(case: str) -> None:
    live, store = EQUAL_CASES[case]
    assert causes(live, store) == {}


times_us = st.integers(1, 6) | st.integers(FROM_US - 2, TO_US + 2)
cells = st.builds(
    cell,
    st.sampled_from(["v", "w", "l", "s"]),
    times_us,
    st.sampled_from([b"a", b"b"]),
    ldt=st.none() | st.integers(990, 1020),
)


def distinct(found: list[dict[str, Any]]) -> dict[str, Any]:
    paths = {"s": b"x", "l": PATHS[0]}
    unique = {each["column"]: {**each, "path": paths.get(each["column"])} for each in found}
    return row(*unique.values())


rows = st.none() | st.lists(cells, max_size=4).map(distinct)


@given(rows, rows, st.sampled_from([SETTLED, *UNSETTLED]))
def test_row_differences_are_consistent(live: Any, store: Any, times: ReadTimes) -> None:
    found = row_differences(live, store, times, COLUMNS)
    names = [each.column for each in found]
    assert len(names) == len(set(names))
    assert row_differences(live, live, times, COLUMNS) == ()
    if times.is_settled:
        assert Cause.NOT_THERE_YET not in {each.cause for each in found}
    else:
        assert not {Cause.LOSS, Cause.LOST_DELETE} & {each.cause for each in found}
    if found:
        assert worst(found) in {each.cause for each in found}
    values = {each["column"]: each["value"] for each in (live or row())["cells"]}
    for each in found:
        if each.cause in (Cause.EXPIRED, Cause.LOST_DELETE):
            assert each.column not in values


def test_several_old_partitions_suggest_truncation() -> None:
    assert [is_truncation(partitions) for partitions in range(3)] == [False, False, True]
