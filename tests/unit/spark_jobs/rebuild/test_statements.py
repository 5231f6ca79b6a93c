"""Statements that load rows, and statements that undo changes."""

from typing import Any
from uuid import UUID

import pytest

import commitlog
from sidecar.errors import ConfigError
from spark_jobs.rebuild.statements import Row, StatementWriter
from spark_jobs.rebuild.table_layout import table_layout
from tests.support.node.snapshot_rows import integer

ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
TABLE = f"""
CREATE TYPE ks.point (x int, y text);
CREATE TABLE ks."T" (
    a int, b text, c int, s int static, v int, "W" text, l list<int>, m map<text, int>,
    u point, gone int, PRIMARY KEY ((a, b), c)
) WITH ID = {ID} AND cdc = true;
ALTER TABLE ks."T" DROP gone USING TIMESTAMP 1;
"""
AT_S = 100
KEY = """"a" = 1 AND "b" = 'x' AND "c" = 7"""
PARTITION = """"a" = 1 AND "b" = 'x'"""
PK = b"\0\4\0\0\0\1\0\0\1x\0"


def cell(column: str, value: bytes, **changes: Any) -> dict[str, Any]:
    return {"column": column, "path": None, "ts": 5, "ldt": None, "ttl": None, "value": value} | (
        changes
    )


def row(*cells: dict[str, Any], **changes: Any) -> Row:
    return {
        "pk": PK,
        "ck": b"7",
        "ckv": [integer(7)],
        "live": None,
        "cells": list(cells),
        "statics": [],
    } | changes


def list_element(value: int, ticks: int, **changes: Any) -> dict[str, Any]:
    path = UUID(fields=(ticks, 0, 0x1000, 0x80, 0, 1)).bytes
    return cell("l", integer(value), path=path, **changes)


@pytest.fixture
def writer() -> StatementWriter:
    return StatementWriter(table_layout(commitlog.Schema.from_cql(TABLE), ID), AT_S)


def update(change: str, ts: int = 5, ttl: int | None = None, where: str = KEY) -> str:
    using = f"{ts}" if ttl is None else f"{ts} AND TTL {ttl}"
    return f'UPDATE "ks"."T" USING TIMESTAMP {using} SET {change} WHERE {where};'


def delete(column: str, ts: int) -> str:
    return f'DELETE {column}FROM "ks"."T" USING TIMESTAMP {ts} WHERE {KEY};'


def insert(ts: int) -> str:
    return f"""INSERT INTO "ks"."T" ("a", "b", "c") VALUES (1, 'x', 7) USING TIMESTAMP {ts};"""


ONE, STATIC = cell("v", integer(1)), cell("s", integer(3))
MARKED = {"live": {"ts": 4, "ttl": None, "ldt": None}}
LOADED = {
    "cells keep their write times and the rest of their TTLs": (
        row(
            ONE,
            cell("W", b"it's"),
            cell("m", integer(2), path=b"k", ts=9, ttl=60, ldt=130),
            statics=[cell("s", integer(3), ts=-(1 << 63))],
            **MARKED,
        ),
        [
            update('"s" = 3', -(1 << 63) + 1, where=PARTITION),
            insert(4),
            update(""""v" = 1, "W" = 'it''s'"""),
            update(""""m" = "m" + {'k': 2}""", 9, 30),
        ],
    ),
    "a partition with static values alone": (
        row(ck=None, ckv=[], statics=[STATIC]),
        [update('"s" = 3', where=PARTITION)],
    ),
    "elements with different TTLs are appended in their order": (
        row(
            cell("v", integer(4)),
            list_element(1, 3),
            list_element(2, 8, ttl=60, ldt=130),
            list_element(3, 9),
        ),
        [
            update('"v" = 4'),
            update('"l" = "l" + [1]'),
            update('"l" = "l" + [2]', 5, 30),
            update('"l" = "l" + [3]'),
        ],
    ),
    "the elements of a list stay in order": (
        row(list_element(2, 8, ts=6), list_element(1, 3), list_element(3, 9)),
        [update('"l" = "l" + [1, 2, 3]', 6)],
    ),
    "fields of a user type": (row(cell("u", b"y", path=b"\0\1")), [update(""""u"."y" = 'y'""")]),
}


@pytest.mark.parametrize("name", LOADED)
def test_load_statements_write_row(writer: StatementWriter, name: str) -> None:
    given, expected = LOADED[name]
    assert list(writer.load(given, with_statics=True)) == expected


def test_static_values_are_loaded_once(writer: StatementWriter) -> None:
    assert list(writer.load(row(ONE, statics=[STATIC]), with_statics=False)) == [update('"v" = 1')]


SAME = cell("W", b"same")
UNDONE: dict[str, tuple[Row | None, Row | None, list[str]]] = {
    "a row that should not exist": (row(ONE), None, [delete("", 50)]),
    "a deleted row": (None, row(ONE, **MARKED), [insert(50), update('"v" = 1', 50)]),
    "only different columns": (
        row(
            SAME | {"ts": 30},
            cell("v", integer(2), ts=40),
            cell("m", integer(1), path=b"bad", ts=40),
            list_element(1, 1),
        ),
        row(SAME, list_element(1, 1), list_element(2, 2, ttl=60, ldt=130)),
        [
            delete('"l" ', 50),
            update('"l" = "l" + [1]', 51),
            update('"l" = "l" + [2]', 51, 30),
            delete('"m" ', 49),
            delete('"v" ', 50),
        ],
    ),
    "later elements of a list": (
        row(list_element(9, 3, ts=70)),
        row(list_element(1, 1), list_element(9, 3, ts=70)),
        [delete('"l" ', 70), update('"l" = "l" + [1, 9]', 71)],
    ),
    "a TTL": (
        row(cell("v", integer(1), ts=40, ttl=60, ldt=130)),
        row(ONE),
        [update('"v" = 1', 50)],
    ),
}


@pytest.mark.parametrize("name", UNDONE)
def test_undo_statements_restore_row(writer: StatementWriter, name: str) -> None:
    now, then, expected = UNDONE[name]
    assert list(writer.undo(now, then, 50)) == expected


def test_undo_statements_restore_static_values(writer: StatementWriter) -> None:
    then = [cell("s", integer(1))]
    assert list(writer.undo_statics(PK, [], then, 50)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP 50 SET "s" = 1 WHERE {PARTITION};'
    ]
    assert list(writer.undo_statics(PK, [cell("s", integer(2))], [], 50)) == [
        f'DELETE "s" FROM "ks"."T" USING TIMESTAMP 50 WHERE {PARTITION};'
    ]
    assert list(writer.undo_statics(PK, then, then, 50)) == []


REFUSED = {
    "CREATE TABLE ks.t (k int PRIMARY KEY, n counter)": "is a counter table",
    "CREATE TABLE ks.t (k int PRIMARY KEY, v 'com.example.Own')": "no literals",
}


@pytest.mark.parametrize("text", REFUSED)
def test_table_unsupported_by_statements_is_an_error(text: str) -> None:
    schema = commitlog.Schema.from_cql(f"{text} WITH ID = {ID};")
    with pytest.raises(ConfigError, match=REFUSED[text]):
        table_layout(schema, ID)
