"""Every change alters a value that a reader sees, although equal values may have different
bytes."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from commitlog import Schema
from spark_jobs.merge import Merger
from tests.support.events.merge_batches import Item, input_batches, items

Event = dict[str, Any]
Row = str
"""The values of a row as a reader sees them: all NaNs are equal, 0.0 and -0.0 are not."""

TEXT = """
CREATE TYPE ks.place (x int, y double);
CREATE TYPE ks.pair (x int, y int);
CREATE TABLE ks.t (
    k int, c varint, sl list<int> static, si int static, l list<int>, lf list<float>,
    sd set<double>, md map<double, int>, u pair, b boolean, i int, t text, f float, d decimal,
    v varint, du duration, fl frozen<list<int>>, fd frozen<list<double>>, fm frozen<map<int, int>>,
    tu frozen<tuple<int, double>>, fu frozen<place>, PRIMARY KEY (k, c)
) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;
"""
SCHEMA = Schema.from_cql(TEXT)
MERGER = Merger(SCHEMA, "ks", "t")


def _sized(*values: bytes | None) -> bytes:
    return b"".join(
        b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4) + value for value in values
    )


def _counted(*values: bytes | None) -> bytes:
    return len(values).to_bytes(4) + _sized(*values)


_ONE, _TWO = (1).to_bytes(4), (2).to_bytes(4)
_FLOATS = tuple(bytes.fromhex(text) for text in ("7fc00000", "7fc00001", "00000000", "80000000"))
_NAN, _OTHER_NAN, _ZERO, _MINUS_ZERO = _DOUBLES = tuple(
    bytes.fromhex(text)
    for text in ("7ff8000000000000", "fff8000000000001", "0000000000000000", "8000000000000000")
)
_NUMBERS = ((b"",), (_ONE,), (_TWO,))
_OF_FLOATS = (_FLOATS[:2], _FLOATS[2:3], _FLOATS[3:])
_OF_DOUBLES = ((_NAN, _OTHER_NAN), (_ZERO,), (_MINUS_ZERO,))
_PLACES = ((_sized(_ONE), _sized(_ONE, None), _sized(_ONE, b"")), (_sized(_ONE, _ZERO),))
_VALUES: Mapping[str, tuple[tuple[bytes, ...], ...]] = {
    "si": _NUMBERS,
    "b": ((b"",), (b"\0",), (b"\1", b"\2")),
    "i": _NUMBERS,
    "t": ((b"",), (b"a",), (b"b",)),
    "f": ((b"",), *_OF_FLOATS),
    "d": (
        (bytes.fromhex("0000000101"), bytes.fromhex("000000010001")),
        (bytes.fromhex("000000020a"),),
    ),
    "v": ((b"\1", b"\0\1"), (b"\xff", b"\xff\xff"), (b"\2",)),
    "du": ((bytes.fromhex("000002"), bytes.fromhex("80000002")), (bytes.fromhex("000202"),)),
    "fl": ((b"",), (_counted(),), (_counted(_ONE),), (_counted(None), _counted(b""))),
    "fd": tuple(tuple(map(_counted, alike)) for alike in _OF_DOUBLES),
    "fm": ((_ONE + _sized(_ONE, b""), _ONE + _sized(_ONE, None)), (_ONE + _sized(_ONE, _TWO),)),
    "tu": (*_PLACES, (_sized(None, _NAN), _sized(b"", _OTHER_NAN))),
    "fu": _PLACES,
    "sl": _NUMBERS,
    "l": _NUMBERS,
    "lf": _OF_FLOATS,
    "sd": ((b"",),),
    "md": _NUMBERS,
    "u": _NUMBERS,
}
"""Values by column or for its elements. The values of one tuple look equal to a reader."""
_LISTS = ("sl", "l", "lf")
_ELEMENTS = (*_LISTS, "sd", "md", "u")
_KEYS = {_NAN: b"\xff", _OTHER_NAN: b"\xff", _ZERO: b"\x80", _MINUS_ZERO: b"\x7f"}
"""The common part of equal elements."""
_POSITIONS, _LATER_POSITIONS = (
    [bytes.fromhex(f"0000000{number}000011e18000000000000000") for number in numbers]
    for numbers in (range(4), range(4, 8))
)
_LATER_US = 6
_STATIC = ("si", "sl")
_CLUSTERINGS = (b"\1", b"\0\1", b"\2")
_SECONDS = st.integers(10, 13)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()


@st.composite
def _cell(draw: st.DrawFn, values: tuple[bytes, ...], ts_us: int) -> Event:
    cell: Event = {"ts": ts_us, "val": _text(draw(st.sampled_from(values)))}
    match draw(st.integers(0, 9)):
        case 0:
            cell |= {"ttl": 2, "ldt": draw(_SECONDS)}
        case 1:
            cell |= {"ldt": draw(_SECONDS), "val": None}
    return cell


@st.composite
def _path(draw: st.DrawFn, column: str) -> Event:
    """The path of an element."""
    if column in _LISTS:
        return {"path": _text(draw(st.sampled_from(_POSITIONS)))}
    if column == "u":
        return {"path": _text(draw(st.integers(0, 1)).to_bytes(2))}
    element = draw(st.sampled_from(_DOUBLES))
    return {"path": _text(element), "key": _text(_KEYS[element])}


@st.composite
def _write(draw: st.DrawFn, column: str, rows: int) -> Event:
    """An event that writes a column of a row, or of the static row."""
    values = tuple(chain.from_iterable(_VALUES[column]))
    ts_us = draw(st.integers(0, 5))
    members: Event = {"kind": "static", "pk": _text(_ONE), "token": 1}
    if column not in _STATIC:
        clustering = draw(st.sampled_from(_CLUSTERINGS[:rows]))
        members |= {"kind": "row", "ck": _text(b"\x40" + clustering[-1:])}
        members["ckv"] = [_text(clustering)]
        if draw(st.booleans()):
            members["live"] = {"ts": ts_us}
    count = 1
    if column in _ELEMENTS:
        count = draw(st.integers(0, 2))
        if draw(st.booleans()):
            members["cdel"] = [{"col": column, "ts": ts_us - 1, "ldt": draw(_SECONDS)}]
    members["cell"] = [
        {"col": column}
        | (draw(_path(column)) if column in _ELEMENTS else {})
        | draw(_cell(values, ts_us))
        for _ in range(count)
    ]
    return {"cells": members}


@st.composite
def _rewritten(draw: st.DrawFn, event: Event) -> Event:
    """A later write of values that look equal; list elements get new positions."""
    members: Event = {**event["cells"], "cell": []}
    if "live" in members:
        members["live"] = {"ts": members["live"]["ts"] + _LATER_US}
    members["cdel"] = [each | {"ts": each["ts"] + _LATER_US} for each in members.get("cdel", ())]
    for cell in event["cells"]["cell"]:
        column, later = cell["col"], cell | {"ts": cell["ts"] + _LATER_US}
        if cell["val"] is not None:
            alike = next(each for each in _VALUES[column] if b64decode(cell["val"]) in each)
            later["val"] = _text(draw(st.sampled_from(alike)))
        if column in _LISTS:
            members["cdel"] = [{"col": column, "ts": _LATER_US - 1, "ldt": 10}]
            later["path"] = _text(_LATER_POSITIONS[_POSITIONS.index(b64decode(cell["path"]))])
        members["cell"].append(later)
    return {"cells": members}


@st.composite
def _histories(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """Old and new writes of one or two columns. Half of the new writes rewrite old ones."""
    columns = draw(st.lists(st.sampled_from(tuple(_VALUES)), min_size=1, max_size=2, unique=True))
    rows = draw(st.integers(1, len(_CLUSTERINGS)))
    write = st.sampled_from(columns).flatmap(lambda column: _write(column, rows))
    old = draw(st.lists(write, min_size=1, max_size=4))
    if draw(st.booleans()):
        return old, [draw(_rewritten(event)) for event in old]
    return old, draw(st.lists(write, min_size=1, max_size=4))


def _seen(row: Mapping[str, Any] | None) -> Row | None:
    return None if row is None else repr(sorted(row.items()))


def _rows(events: Iterable[Event], now_s: int) -> dict[bytes, Row | None]:
    batches = MERGER.typed(input_batches(items(events)), now_s=now_s)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return {row.pop("cdc_row_id"): _seen(row) for row in rows}


@given(_histories(), st.integers(9, 13), st.integers(0, 3), st.booleans())
def test_every_change_is_visible_to_readers(
    history: tuple[list[Event], list[Event]], before_s: int, passed_s: int, each: bool
) -> None:
    """Conversely, every visible difference is a change."""
    old, new = history
    after_s = before_s + passed_s
    rows = _rows(old, before_s)
    written = _rows([*old, *new], before_s)
    content: list[Item] = [*items(old), *items(new, is_new=True)]
    batches = MERGER.changes(input_batches(content), before_s=before_s, after_s=after_s, each=each)
    for change in (row for batch in batches for row in batch.to_pylist()):
        if change["op"] is None:
            continue
        row_id, before, after = (
            change["cdc_row_id"],
            _seen(change["before"]),
            _seen(change["after"]),
        )
        assert before == rows.get(row_id)
        assert before != after
        if not each:
            is_written = before != written.get(row_id)
            assert change["cause"] == ("write" if is_written else "expiry")
        rows[row_id] = after
    shown = {row_id: row for row_id, row in rows.items() if row is not None}
    assert shown == _rows([*old, *new], after_s)
