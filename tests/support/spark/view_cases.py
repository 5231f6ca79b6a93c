"""A small table with events, for tests of its view."""

import struct
from base64 import b64encode
from pathlib import Path
from typing import Any

from spark_jobs.reconcile.source_table import SourceSchema, read_schema
from tests.support.spark.forms import EventValue

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
