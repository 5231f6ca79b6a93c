"""The typed view: keys, statics, collections, and a source table that changes."""

import struct
from base64 import b64encode
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.reconcile.job import reconcile
from spark_jobs.reconcile.layout import AppendLayout
from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from spark_jobs.reconcile.tables import kept_tables
from spark_jobs.reconcile.typed import table_at
from tests.integration.spark.reconcile.forms import EventValue, frame, named

ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
TABLE = f"""
CREATE TYPE shop.point (x int, y text);
CREATE TABLE shop.carts (
    pk int, day text, ckv text, item int, owner text static, l list<int>, s set<int>,
    m map<text, int>, u point, f frozen<list<int>>, old text,
    PRIMARY KEY ((pk, day), item)
) WITH CLUSTERING ORDER BY (item DESC) AND ID = {ID} AND cdc = true;
"""
DROP_US = 10
CHANGED = f"""{TABLE}
ALTER TABLE shop.carts DROP old USING TIMESTAMP {DROP_US};
ALTER TABLE shop.carts ADD fresh bigint;
"""
ANEW = CHANGED + "ALTER TABLE shop.carts ADD old text;"
NOW_S = 1000


def schema(folder: Path, text: str) -> SourceSchema:
    path = folder / "schema.cql"
    path.write_text(text)
    return read_schema(path)


def text(raw: bytes) -> str:
    return b64encode(raw).decode()


def number(value: int) -> bytes:
    return struct.pack(">i", value)


def event(kind: str, cells: list[EventValue], **members: Any) -> EventValue:
    key = b"\0\4" + number(1) + b"\0" + b"\0\1a\0"
    place = {"kind": kind, "id": ID, "pk": text(key), "token": 9}
    return {"cells": place | members | {"cell": cells}}


def row(item: int, cells: list[EventValue], **members: Any) -> EventValue:
    ck = b"\xbf" + bytes(255 - byte for byte in struct.pack(">I", item + (1 << 31)))
    return event("row", cells, ck=text(ck), ckv=[text(number(item))], **members)


def cell(column: str, value: bytes, ts: int = 5, path: bytes | None = None) -> EventValue:
    found = {"col": column, "ts": ts, "val": text(value)}
    return found if path is None else found | {"path": text(path)}


LATER = bytes.fromhex("00000000000111e1808080808080808a")
EARLIER = bytes.fromhex("ffffffff000011e1808080808080808a")
"""Time UUIDs, of which the later one has the smaller bytes."""
EVENTS = [
    event("static", [cell("owner", b"x")]),
    row(
        7,
        [
            cell("ckv", b"v"),
            *(cell("l", number(each), path=path) for each, path in ((2, LATER), (1, EARLIER))),
            *(cell("s", b"", path=number(each)) for each in (2, -1)),
            cell("m", number(4), path=b"k"),
            cell("u", b"y", path=b"\0\1"),
            cell("f", struct.pack(">iiiii", 2, 4, 5, 4, 6)),
        ],
        live={"ts": 5},
    ),
    row(8, [cell("old", b"before", DROP_US)]),
    row(9, [cell("old", b"after", DROP_US + 1), cell("fresh", struct.pack(">q", 1 << 40))]),
]
KEY = {"pk": 1, "day": "a", "owner": "x"}
NOTHING = {"ckv": None, "l": None, "s": None, "m": None, "u": None, "f": None}
FULL = {"ckv": "v", "l": [1, 2], "s": [-1, 2], "m": {"k": 4}, "u": (None, "y"), "f": [5, 6]}


def test_the_view_follows_the_source_table(spark: SparkSession, tmp_path: Path) -> None:
    before = schema(tmp_path, TABLE)
    layout = AppendLayout(spark, str(tmp_path / "table"), buckets=2)
    reconcile(frame(spark, tmp_path / "events", EVENTS), layout, kept_tables(before), 2)

    def rows(described: SourceSchema) -> list[dict[str, Any]]:
        view = table_at(layout, described, described.table("shop.carts"), NOW_S)
        found = sorted(view.collect(), key=lambda each: each["item"])
        return [{**each.asDict(), "u": each["u"] and tuple(each["u"])} for each in found]

    assert rows(before) == [
        KEY | FULL | {"item": 7, "old": None},
        KEY | NOTHING | {"item": 8, "old": "before"},
        KEY | NOTHING | {"item": 9, "old": "after"},
    ]
    # The row of the dropped column alone is gone with it.
    assert rows(schema(tmp_path, CHANGED)) == [
        KEY | FULL | {"item": 7, "fresh": None},
        KEY | NOTHING | {"item": 9, "fresh": 1 << 40},
    ]
    # What was written after the drop is of the column that came back.
    assert rows(schema(tmp_path, ANEW)) == [
        KEY | FULL | {"item": 7, "fresh": None, "old": None},
        KEY | NOTHING | {"item": 9, "fresh": 1 << 40, "old": "after"},
    ]


def test_a_table_that_was_made_anew_begins_empty(spark: SparkSession, tmp_path: Path) -> None:
    """Whether events of the old one are passed over or taken in."""
    again = "5a1c395e-b41f-11e9-9f22-ba0be0483c18"
    both = schema(tmp_path, TABLE + TABLE[TABLE.index("CREATE TABLE") :].replace(ID, again))
    values = [*EVENTS, named(again, row(9, [], live={"ts": 5}))]
    shown = []
    for number, tables in enumerate(((), ("shop.carts",))):
        layout = AppendLayout(spark, str(tmp_path / f"table-{number}"), buckets=2)
        events = frame(spark, tmp_path / f"events-{number}", values)
        reconcile(events, layout, kept_tables(both, tables), 2)
        shown.append(table_at(layout, both, both.table("shop.carts"), NOW_S).collect())
    assert shown[0] == shown[1]
    assert [(each["item"], each["owner"]) for each in shown[0]] == [(9, None)]
