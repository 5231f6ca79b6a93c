"""Differences from the selected table are found: values, times, rows."""

import datetime
import struct
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from cassandra import cqltypes
from pyspark.sql import Row as SparkRow

from tests.integration.spark.golden.selected import Row, Selected, Times
from tests.integration.spark.golden.tables import cell_count, wrong_cells, wrong_values
from tests.oracle.merge.typed import Column, Columns
from tests.support.node.snapshot_rows import integer

INT, TEXT, DATE = cqltypes.Int32Type, cqltypes.UTF8Type, cqltypes.SimpleDateType
SET = cqltypes.SetType.apply_parameters([INT])
LIST = cqltypes.ListType.apply_parameters([INT])
USER = cqltypes.UserType.make_udt_class("ks", "point", ("x", "y"), (INT, TEXT))
NOW_S = 1000


def sized(*parts: bytes | None) -> bytes:
    return b"".join(integer(-1) if part is None else integer(len(part)) + part for part in parts)


COLUMNS = Columns(
    (Column("p", INT),),
    (Column("c", INT),),
    (Column("d", DATE), Column("l", LIST), Column("s", SET), Column("u", USER), Column("v", TEXT)),
)
VALUES = {
    "p": integer(1),
    "c": integer(2),
    "d": bytes(4),
    "l": integer(2) + sized(integer(8), integer(7)),
    "s": integer(1) + sized(integer(5)),
    "u": sized(None, b"y"),
    "v": b"text",
}
TIMES: dict[str, Times] = {"d": 5, "l": [3, 4], "s": [6], "u": [None, 7], "v": 9}
LEFT: dict[str, Times] = {"d": None, "l": [None, None], "s": [60], "u": [None, None], "v": 40}
SELECTED = Selected(
    "ks.t",
    COLUMNS,
    frozenset({"l", "s", "u"}),
    False,
    (Row(VALUES, TIMES, LEFT),),
    range(NOW_S - 1, NOW_S + 2),
)
# The later element of a list has the smaller bytes.
EARLIER = bytes.fromhex("ffffffff000011e1808080808080808a")
LATER = bytes.fromhex("00000000000111e1808080808080808a")


def cell(column: str, ts: int, value: bytes, path: bytes | None = None, **members: Any) -> SparkRow:
    expiry = {"ttl": None, "ldt": None} | members
    return SparkRow(column=column, path=path, ts=ts, value=value, **expiry)


CELLS = (
    cell("d", 5, bytes(4)),
    cell("l", 4, integer(7), LATER),
    cell("l", 3, integer(8), EARLIER),
    cell("s", 6, b"", integer(5), ttl=99, ldt=NOW_S + 60),
    cell("u", 7, b"y", b"\0\1"),
    cell("v", 9, b"text", ttl=50, ldt=NOW_S + 40),
)


def shown(*cells: SparkRow, c: int = 2) -> SparkRow:
    return SparkRow(pk=integer(1), ck=b"c", ckv=[integer(c)], cells=[*cells], statics=[])


def test_equal_cells_have_no_difference() -> None:
    assert wrong_cells(SELECTED, [shown(*CELLS)]) == []
    assert cell_count(SELECTED) == 7


@pytest.mark.parametrize(
    "other",
    [
        cell("d", 6, bytes(4)),
        cell("d", 5, integer(1)),
        cell("l", 3, integer(7), LATER),
        cell("l", 4, integer(7), EARLIER),
        cell("s", 6, b"", integer(4), ttl=99, ldt=NOW_S + 60),
        cell("s", 6, b"", integer(5), ttl=99, ldt=NOW_S + 61),
        cell("s", 6, b"", integer(5)),
        cell("u", 7, b"y", b"\0\0"),
        cell("v", 9, b"text", ttl=50, ldt=NOW_S + 41),
        cell("v", 9, b"texts", ttl=50, ldt=NOW_S + 40),
    ],
)
def test_different_cell_is_found(other: SparkRow) -> None:
    """One read time must explain all TTLs of a table."""
    rest = [each for each in CELLS if (each.column, each.path) != (other.column, other.path)]
    if len(rest) == len(CELLS):
        rest = [each for each in CELLS if each.column != other.column]
    assert wrong_cells(SELECTED, [shown(*rest, other)])


def test_missing_extra_and_repeated_rows_are_found() -> None:
    assert any("not shown" in line for line in wrong_cells(SELECTED, []))
    strange = [shown(*CELLS), shown(*CELLS, c=3)]
    assert any("not selected" in line for line in wrong_cells(SELECTED, strange))
    assert any("twice" in line for line in wrong_cells(SELECTED, [shown(*CELLS)] * 2))
    assert wrong_cells(SELECTED, [shown(*CELLS[1:])])


def view(rows: list[dict[str, Any]], names: tuple[str, ...] | None = None) -> Any:
    """DataFrame with the members that the check uses."""
    types = {
        **{"p": pa.int32(), "c": pa.int32(), "d": pa.date32(), "l": pa.list_(pa.int32())},
        **{"s": pa.list_(pa.int32()), "v": pa.string()},
        "u": pa.struct([("x", pa.int32()), ("y", pa.string())]),
    }
    whole = pa.Table.from_pylist(rows, pa.schema(types.items()))
    return SimpleNamespace(toArrow=lambda: whole.select(names or tuple(types)))


# The first day of CQL is outside Python's calendar.
FIRST_DAY = -(1 << 31)
TYPED = {
    **{"p": 1, "c": 2, "d": FIRST_DAY, "l": [8, 7], "s": [5]},
    **{"u": {"x": None, "y": "y"}, "v": "text"},
}


def wrong(*rows: dict[str, Any], names: tuple[str, ...] | None = None) -> list[str]:
    return list(wrong_values(SELECTED, view([*rows], names)))


def test_different_typed_values_are_found() -> None:
    assert wrong(TYPED) == []
    next_day = Row({**VALUES, "d": struct.pack(">I", (1 << 31) + 1)}, {}, {})
    later = view([{**TYPED, "d": datetime.date(1970, 1, 2)}])
    assert list(wrong_values(replace(SELECTED, rows=(next_day,)), later)) == []
    assert len(wrong({**TYPED, "v": "other"})) == 2
    assert len(wrong({**TYPED, "l": [7, 8]})) == 2
    assert len(wrong()) == 1
    assert len(wrong(TYPED, TYPED)) == 1
    assert wrong(TYPED, names=("p", "c"))
