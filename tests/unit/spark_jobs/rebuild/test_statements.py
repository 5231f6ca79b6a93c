"""Statements that load rows, and statements that undo changes."""

from typing import Any
from uuid import UUID

import pytest

import commitlog
from sidecar.errors import ConfigError
from spark_jobs.rebuild.statements import Row, StatementWriter
from spark_jobs.rebuild.table_layout import table_layout

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


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def cell(column: str, value: bytes, **changes: Any) -> dict[str, Any]:
    return {"column": column, "path": None, "ts": 5, "ldt": None, "ttl": None, "value": value} | (
        changes
    )


def row(*cells: dict[str, Any], **changes: Any) -> Row:
    return {
        "pk": PK,
        "ck": b"7",
        "ckv": [number(7)],
        "live": None,
        "cells": list(cells),
        "statics": [],
    } | changes


def list_element(value: int, ticks: int, **changes: Any) -> dict[str, Any]:
    path = UUID(fields=(ticks, 0, 0x1000, 0x80, 0, 1)).bytes
    return cell("l", number(value), path=path, **changes)


@pytest.fixture
def writer() -> StatementWriter:
    return StatementWriter(table_layout(commitlog.Schema.from_cql(TABLE), ID), AT_S)


def test_cells_keep_their_write_times_and_the_rest_of_their_ttls(writer: StatementWriter) -> None:
    given = row(
        cell("v", number(1)),
        cell("W", b"it's"),
        cell("m", number(2), path=b"k", ts=9, ttl=60, ldt=130),
        live={"ts": 4, "ttl": None, "ldt": None},
        statics=[cell("s", number(3), ts=-(1 << 63))],
    )
    assert list(writer.load(given, with_statics=True)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP {-(1 << 63) + 1} SET "s" = 3 WHERE {PARTITION};',
        """INSERT INTO "ks"."T" ("a", "b", "c") VALUES (1, 'x', 7) USING TIMESTAMP 4;""",
        f"""UPDATE "ks"."T" USING TIMESTAMP 5 SET "v" = 1, "W" = 'it''s' WHERE {KEY};""",
        f"""UPDATE "ks"."T" USING TIMESTAMP 9 AND TTL 30 SET "m" = "m" + {{'k': 2}} WHERE {KEY};""",
    ]
    assert len(list(writer.load(given, with_statics=False))) == 3


def test_a_partition_with_static_values_alone(writer: StatementWriter) -> None:
    given = row(ck=None, ckv=[], statics=[cell("s", number(3))])
    assert list(writer.load(given, with_statics=True)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP 5 SET "s" = 3 WHERE {PARTITION};'
    ]


def test_elements_with_different_ttls_are_appended_in_their_order(writer: StatementWriter) -> None:
    expiring = list_element(2, 8, ttl=60, ldt=130)
    given = row(cell("v", number(4)), list_element(1, 3), expiring, list_element(3, 9))
    assert list(writer.load(given, with_statics=True)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP 5 SET "v" = 4 WHERE {KEY};',
        f'UPDATE "ks"."T" USING TIMESTAMP 5 SET "l" = "l" + [1] WHERE {KEY};',
        f'UPDATE "ks"."T" USING TIMESTAMP 5 AND TTL 30 SET "l" = "l" + [2] WHERE {KEY};',
        f'UPDATE "ks"."T" USING TIMESTAMP 5 SET "l" = "l" + [3] WHERE {KEY};',
    ]


def test_the_elements_of_a_list_stay_in_order(writer: StatementWriter) -> None:
    given = row(list_element(2, 8, ts=6), list_element(1, 3), list_element(3, 9))
    assert list(writer.load(given, with_statics=True)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP 6 SET "l" = "l" + [1, 2, 3] WHERE {KEY};'
    ]


def test_fields_of_a_user_type(writer: StatementWriter) -> None:
    given = row(cell("u", b"y", path=b"\0\1"))
    assert list(writer.load(given, with_statics=True)) == [
        f"""UPDATE "ks"."T" USING TIMESTAMP 5 SET "u"."y" = 'y' WHERE {KEY};"""
    ]


def test_a_row_that_should_not_exist_is_deleted(writer: StatementWriter) -> None:
    assert list(writer.undo(row(cell("v", number(1))), None, 50)) == [
        f'DELETE FROM "ks"."T" USING TIMESTAMP 50 WHERE {KEY};'
    ]


def test_a_deleted_row_returns(writer: StatementWriter) -> None:
    then = row(cell("v", number(1)), live={"ts": 4, "ttl": None, "ldt": None})
    assert list(writer.undo(None, then, 50)) == [
        """INSERT INTO "ks"."T" ("a", "b", "c") VALUES (1, 'x', 7) USING TIMESTAMP 50;""",
        f'UPDATE "ks"."T" USING TIMESTAMP 50 SET "v" = 1 WHERE {KEY};',
    ]


def test_only_different_columns_are_set_back(writer: StatementWriter) -> None:
    same = cell("W", b"same")
    now = row(
        same | {"ts": 30},
        cell("v", number(2), ts=40),
        cell("m", number(1), path=b"bad", ts=40),
        list_element(1, 1),
    )
    then = row(same, list_element(1, 1), list_element(2, 2, ttl=60, ldt=130))
    assert list(writer.undo(now, then, 50)) == [
        f'DELETE "l" FROM "ks"."T" USING TIMESTAMP 50 WHERE {KEY};',
        f'UPDATE "ks"."T" USING TIMESTAMP 51 SET "l" = "l" + [1] WHERE {KEY};',
        f'UPDATE "ks"."T" USING TIMESTAMP 51 AND TTL 30 SET "l" = "l" + [2] WHERE {KEY};',
        f'DELETE "m" FROM "ks"."T" USING TIMESTAMP 49 WHERE {KEY};',
        f'DELETE "v" FROM "ks"."T" USING TIMESTAMP 50 WHERE {KEY};',
    ]


def test_later_elements_of_a_list_are_replaced_too(writer: StatementWriter) -> None:
    now = row(list_element(9, 3, ts=70))
    then = row(list_element(1, 1), list_element(9, 3, ts=70))
    assert list(writer.undo(now, then, 50)) == [
        f'DELETE "l" FROM "ks"."T" USING TIMESTAMP 70 WHERE {KEY};',
        f'UPDATE "ks"."T" USING TIMESTAMP 71 SET "l" = "l" + [1, 9] WHERE {KEY};',
    ]


def test_a_ttl_is_a_difference(writer: StatementWriter) -> None:
    now = row(cell("v", number(1), ts=40, ttl=60, ldt=130))
    assert list(writer.undo(now, row(cell("v", number(1))), 50)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP 50 SET "v" = 1 WHERE {KEY};'
    ]


def test_static_values_are_set_back(writer: StatementWriter) -> None:
    then = [cell("s", number(1))]
    assert list(writer.undo_statics(PK, [], then, 50)) == [
        f'UPDATE "ks"."T" USING TIMESTAMP 50 SET "s" = 1 WHERE {PARTITION};'
    ]
    assert list(writer.undo_statics(PK, [cell("s", number(2))], [], 50)) == [
        f'DELETE "s" FROM "ks"."T" USING TIMESTAMP 50 WHERE {PARTITION};'
    ]
    assert list(writer.undo_statics(PK, then, then, 50)) == []


REFUSED = {
    "CREATE TABLE ks.t (k int PRIMARY KEY, n counter)": "is a counter table",
    "CREATE TABLE ks.t (k int PRIMARY KEY, v 'com.example.Own')": "no literals",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_table_that_statements_cannot_write_is_an_error(text: str) -> None:
    schema = commitlog.Schema.from_cql(f"{text} WITH ID = {ID};")
    with pytest.raises(ConfigError, match=REFUSED[text]):
        table_layout(schema, ID)
