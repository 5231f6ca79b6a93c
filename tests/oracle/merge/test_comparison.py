"""The comparison detects every kind of difference."""

from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from cassandra.cqltypes import DecimalType, Int32Type, UTF8Type

from tests.oracle.algebra.table import Table
from tests.oracle.merge.comparison import Selected, differences, summary
from tests.oracle.merge.typed import Column, Columns

COLUMNS = Columns((Column("p", Int32Type),), (Column("c", Int32Type),), (Column("v", UTF8Type),))
Rows = list[dict[str, Any]]


def raw(number: int) -> str:
    return b64encode(number.to_bytes(4, "big")).decode()


def table() -> Table:
    """Rows (1, 1), (1, 2) and (2, 1), with their clustering as value."""
    merged = Table()
    for partition, clustering in ((1, 1), (1, 2), (2, 1)):
        cell = {"col": "v", "ts": 1, "val": b64encode(b"%d" % clustering).decode()}
        place = {"pk": raw(partition), "token": partition, "ck": raw(clustering)}
        members = {"kind": "row", **place, "ckv": [raw(clustering)], "cell": [cell]}
        merged.apply({"cells": members})
    return merged


def rows() -> Rows:
    return [
        {"p": partition, "c": clustering, "v": str(clustering)}
        for partition, clustering in ((1, 1), (1, 2), (2, 1))
    ]


def test_equal_tables_have_no_differences() -> None:
    assert differences(table(), Selected(COLUMNS, rows(), range(1))) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda rows: rows.pop(), "row (p=2, c=1) is merged, not selected"),
        (
            lambda rows: rows.append({"p": 3, "c": None, "v": None}),
            "row (p=3, c=None) is selected, not merged",
        ),
        (
            lambda rows: rows[1].update(v=None),
            "row (p=1, c=2): v is '2' merged, None selected",
        ),
        (lambda rows: rows.reverse(), "the rows are equal and their order differs"),
    ],
)
def test_each_difference_is_reported(change: Callable[[Rows], object], line: str) -> None:
    selected = rows()
    change(selected)
    assert differences(table(), Selected(COLUMNS, selected, range(1))) == [line]


@pytest.mark.parametrize(("clustering", "is_same"), [("1.00", True), ("1.01", False)])
def test_rows_match_by_equal_clusterings(clustering: str, is_same: bool) -> None:
    merged = Table()
    raw_decimal = b64encode(bytes([0, 0, 0, 1, 10])).decode()
    place = {"pk": raw(1), "token": 1, "ck": raw(1)}
    live = {"ts": 1}
    merged.apply({"cells": {"kind": "row", **place, "ckv": [raw_decimal], "live": live}})
    columns = Columns((Column("p", Int32Type),), (Column("c", DecimalType),), ())
    selected = [{"p": 1, "c": Decimal(clustering)}]
    assert (differences(merged, Selected(columns, selected, range(1))) == []) is is_same


def test_a_message_shows_the_first_differences() -> None:
    assert summary(f"line {number}" for number in range(7)).splitlines() == [
        *(f"line {number}" for number in range(5)),
        "… and 2 more",
    ]
