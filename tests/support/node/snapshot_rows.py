"""Rows of a snapshot's page as a node sends them."""

import struct
from collections.abc import Sequence
from typing import Any

from commitlog import EventBatch, SnapshotEncoder

TABLE_ID = "5a1c0000-0000-1000-8000-000000000001"
DDL = f"""
CREATE TYPE ks.place (street text, number int);
CREATE TABLE ks.t (k int, c int, st text static, v int, l list<int>, s set<int>, m map<text, int>,
  p place, PRIMARY KEY (k, c)) WITH ID = {TABLE_ID} AND cdc = true;
CREATE TABLE ks.plain (a int, b text, "V" int, PRIMARY KEY ((a, b)))
  WITH ID = 5a1c0000-0000-1000-8000-000000000002 AND cdc = true;
"""


READ_AT_US = 1_795_000_001_500_000
Cells = Sequence[bytes | None]


def integer(value: int) -> bytes:
    return struct.pack(">i", value)


def long(value: int) -> bytes:
    return struct.pack(">q", value)


def cell(value: bytes | None) -> bytes:
    return integer(-1) if value is None else integer(len(value)) + value


def page(*rows: Cells) -> bytes:
    return integer(len(rows)) + b"".join(cell(value) for row in rows for value in row)


def encode(rows: Sequence[Cells], made: SnapshotEncoder, **arguments: Any) -> EventBatch:
    asked = {"read_at_us": READ_AT_US, "start": -(1 << 63), "end": (1 << 63) - 1} | arguments
    return made.encode(page(*rows), **asked)


def row(k: int, c: int | None, **columns: Sequence[bytes | None]) -> Cells:
    """Of `ks.t` with element times: the key, then value, write time and TTL of each column."""
    cells: list[bytes | None] = [integer(k), None if c is None else integer(c)]
    for name in ("l", "m", "p", "s", "v", "st"):
        cells += columns.get(name, (None, None, None))
    return cells
