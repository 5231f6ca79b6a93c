"""The merge rules one by one."""

from base64 import b64encode
from typing import Any

import pytest

from tests.oracle.algebra import Table, is_purgeable

NOW_S = 100
PK = b"k"


def text(raw: bytes) -> str:
    return b64encode(raw).decode()


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"cells": {"kind": kind, "pk": text(PK), "token": 0, **members}}


def row(ck: bytes, **members: Any) -> dict[str, Any]:
    return event("row", ck=text(ck), ckv=[text(ck)], **members)


def cell(value: bytes | None, ts: int, column: str = "v", **members: Any) -> dict[str, Any]:
    return {"col": column, "ts": ts, "val": None if value is None else text(value), **members}


def rows(*events: dict[str, Any], now_s: int = NOW_S) -> dict[bytes | None, Any]:
    """Merged in both directions; rows by clustering."""
    answers = []
    for order in (events, events[::-1]):
        table = Table()
        for each in order:
            table.apply(each)
        answers.append({key[1]: found for key, found in table.rows(now_s).items()})
    assert answers[0] == answers[1]
    return answers[0]


LADDER = [
    cell(b"\xff", 1),
    cell(b"", 2),
    cell(b"\x7f", 2),
    cell(b"\x80", 2),
    cell(b"\x80\x00", 2),
    cell(b"\xff", 2, ttl=50, ldt=150),
    cell(b"\x01", 2, ttl=50, ldt=151),
    cell(b"\x01", 2, ttl=49, ldt=151),
    cell(b"\x02", 2, ttl=49, ldt=151),
    cell(None, 2, ldt=10),
    cell(None, 2, ldt=11),
    cell(b"", 3),
]
"""Each cell takes precedence over the one before it."""


@pytest.mark.parametrize("place", range(1, len(LADDER)))
def test_the_precedence_of_cells(place: int) -> None:
    lower, higher = LADDER[place - 1 : place + 1]
    alone = rows(row(b"1", cell=[higher]))
    assert rows(row(b"1", cell=[lower]), row(b"1", cell=[higher])) == alone


def test_a_deletion_takes_precedence_at_its_own_time() -> None:
    insert = row(b"1", live={"ts": 5}, cell=[cell(b"x", 5)])
    deletion = {"ts": 5, "ldt": 50}
    assert rows(insert, row(b"1", **{"del": deletion})) == {}
    assert rows(insert, event("partition", **{"del": deletion})) == {}
    whole = {"lo": text(b""), "hi": text(b"\xff")}
    assert rows(insert, event("range", **whole, **{"del": deletion})) == {}
    earlier = {"ts": 4, "ldt": 50}
    assert rows(insert, event("partition", **{"del": earlier})) == {b"1": {"v": b"x"}}


def test_a_range_is_half_open() -> None:
    writes = [row(ck, live={"ts": 1}) for ck in (b"1", b"2", b"3")]
    deletion = event("range", lo=text(b"2"), hi=text(b"3"), **{"del": {"ts": 9, "ldt": 50}})
    assert rows(*writes, deletion) == {b"1": {}, b"3": {}}


def test_an_insert_stays_with_nulls_and_an_update_vanishes_with_its_last_cell() -> None:
    null = row(b"1", cell=[cell(None, 6, ldt=50)])
    assert rows(row(b"1", live={"ts": 5}, cell=[cell(b"x", 5)]), null) == {b"1": {}}
    assert rows(row(b"1", cell=[cell(b"x", 5)]), null) == {}


def test_a_cell_ends_at_its_local_deletion_time() -> None:
    write = row(b"1", live={"ts": 5, "ttl": 10, "ldt": 110}, cell=[cell(b"x", 5, ttl=10, ldt=110)])
    assert rows(write, now_s=109) == {b"1": {"v": b"x"}}
    assert rows(write, now_s=110) == {}


def test_an_expiring_liveness_takes_precedence_at_one_time() -> None:
    expiring = row(b"1", live={"ts": 5, "ttl": 10, "ldt": 90})
    assert rows(expiring, row(b"1", live={"ts": 5})) == {}


def test_static_data_outlives_rows_and_is_in_each() -> None:
    static = event("static", cell=[cell(b"s", 5, "s")])
    assert rows(static) == {None: {"s": b"s"}}
    insert = row(b"1", live={"ts": 5})
    assert rows(static, insert) == {b"1": {"s": b"s"}}
    everything = event("range", lo="", hi=text(b"\xff"), **{"del": {"ts": 9, "ldt": 50}})
    assert rows(static, insert, everything) == {None: {"s": b"s"}}
    assert rows(static, event("partition", **{"del": {"ts": 9, "ldt": 50}})) == {}


def test_old_deletions_are_purgeable() -> None:
    """A deletion of second 100, with 10 seconds of grace and 5 of lag."""
    kept = [
        now_s
        for now_s in range(110, 120)
        if not is_purgeable(100, now_s=now_s, gc_grace_s=10, lag_s=5)
    ]
    assert kept == [*range(110, 116)]


@pytest.mark.parametrize(
    ("later", "shown"),
    [
        (cell(b"", 6, path=text(b"1.00"), key=text(b"1")), {"v": ((b"1.00", b""),)}),
        (cell(b"", 5, path=text(b"1.00"), key=text(b"1")), {"v": ((b"1.00", b""),)}),
        (cell(b"", 5, path=text(b"0.1e1"), key=text(b"1")), {"v": ((b"1.0", b""),)}),
        (cell(b"", 4, path=text(b"1.00"), key=text(b"1")), {"v": ((b"1.0", b""),)}),
        (cell(None, 5, path=text(b"1.00"), key=text(b"1"), ldt=50), {}),
        (cell(b"", 5, path=text(b"2"), key=text(b"2")), {"v": ((b"1.0", b""), (b"2", b""))}),
    ],
)
def test_equal_elements_are_one_as_last_written(
    later: dict[str, Any], shown: dict[str, Any]
) -> None:
    first = cell(b"", 5, path=text(b"1.0"), key=text(b"1"))
    assert rows(row(b"1", live={"ts": 1}, cell=[first]), row(b"1", cell=[later])) == {b"1": shown}


def test_a_complex_deletion_deletes_the_elements_of_its_column() -> None:
    elements = [cell(b"", 5, "m", path=text(b"a")), cell(b"", 7, "m", path=text(b"b"))]
    other = cell(b"", 5, "n", path=text(b"a"))
    write = row(b"1", cell=[*elements, other])
    replacement = row(b"1", cdel=[{"col": "m", "ts": 6, "ldt": 50}])
    assert rows(write, replacement) == {b"1": {"m": ((b"b", b""),), "n": ((b"a", b""),)}}
