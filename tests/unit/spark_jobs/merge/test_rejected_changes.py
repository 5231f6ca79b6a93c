"""Rows with a value that no typed column can hold are invisible; every other row is visible."""

import json
import random
import struct
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from commitlog import Schema
from spark_jobs.merge import Merger

TYPES = {
    "i": "int",
    "t": "timestamp",
    "l": "frozen<list<timestamp>>",
    "m": "frozen<map<timestamp, int>>",
    "u": "frozen<tuple<int, timestamp>>",
    "s": "timestamp static",
}
DDL = "CREATE TABLE ks.{name} (p {p}, c {c}, {columns}, PRIMARY KEY (p, c)) WITH ID = {id};"
IDS = [f"{at}a1c395e-b41f-11e5-9f22-ba0be0483c18" for at in (5, 6, 7)]
KEYS = [("int", "int"), ("timestamp", "int"), ("int", "timestamp")]
SCHEMA = Schema.from_cql(
    "".join(
        DDL.format(
            name=f"t{at}",
            p=p,
            c=c,
            id=IDS[at],
            columns=", ".join(f"{name} {kind}" for name, kind in TYPES.items()),
        )
        for at, (p, c) in enumerate(KEYS)
    )
)
LAST_MS = ((1 << 63) - 1) // 1000


def counted(*values: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(each)) + each for each in values)


def integer(draw: random.Random) -> bytes:
    return struct.pack(">i", draw.randrange(-5, 5))


class Values:
    """Draws values of a table, and records whether all of them have a typed form."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.fit = True

    def timestamp(self) -> bytes:
        limits = [LAST_MS, -LAST_MS, LAST_MS + 1, -LAST_MS - 1, (1 << 63) - 1, -(1 << 63)]
        millis = self.draw.choice([0, 1, *limits]) if self.draw.random() < 0.3 else 5
        # 64-bit microseconds reach a fraction of a millisecond further into the past.
        self.fit &= abs(millis) <= LAST_MS
        return struct.pack(">q", millis)

    def of(self, kind: str) -> bytes:
        if kind.startswith("timestamp"):
            return self.timestamp()
        match kind:
            case "frozen<list<timestamp>>":
                return struct.pack(">i", 2) + counted(self.timestamp(), self.timestamp())
            case "frozen<map<timestamp, int>>":
                return struct.pack(">i", 1) + counted(self.timestamp(), integer(self.draw))
            case "frozen<tuple<int, timestamp>>":
                return counted(integer(self.draw), self.timestamp())
        return integer(self.draw)


def text(value: bytes) -> str:
    return b64encode(value).decode()


class Table:
    """A table of rows without ranges. A write replaces all columns of a row."""

    def __init__(self, draw: random.Random, number: int) -> None:
        self.draw = draw
        self.kinds = KEYS[number]
        self.id = IDS[number]
        self.rows: dict[tuple[bytes, bytes], bool] = {}
        """Whether the values of each row have typed forms."""
        self.statics: dict[bytes, bool] = {}
        self.keys: list[tuple[bytes, bool]] = []
        self.clusterings: list[tuple[bytes, bool]] = []
        for kind, found in zip(self.kinds, (self.keys, self.clusterings), strict=True):
            for _ in range(4):
                values = Values(draw)
                found.append((values.of(kind), values.fit))

    def write(self, ts: int) -> dict[str, Any]:
        """The next event."""
        (p, p_fits), (c, c_fits) = self.draw.choice(self.keys), self.draw.choice(self.clusterings)
        token = self.keys.index((p, p_fits))
        cells = {"id": self.id, "pk": text(p), "token": token}
        values = Values(self.draw)
        if self.draw.random() < 0.3:
            written = [{"col": "s", "ts": ts, "val": text(values.of("timestamp"))}]
            self.statics[p] = values.fit
            return cells | {"kind": "static", "cell": written}
        row = {"kind": "row", "ck": text(c), "ckv": [text(c)]}
        if self.draw.random() < 0.2:
            self.rows.pop((p, c), None)
            return cells | row | {"del": {"ts": ts, "ldt": 1}}
        written = [
            {"col": name, "ts": ts, "val": text(values.of(kind))}
            for name, kind in TYPES.items()
            if name != "s"
        ]
        self.rows[p, c] = values.fit and p_fits and c_fits
        return cells | row | {"live": {"ts": ts}, "cell": written}

    def visible(self) -> tuple[set[tuple[bytes, bytes]], set[tuple[bytes, bytes]]]:
        """The rows that a target contains, and the rows that it cannot contain."""
        fits = {row: fits and self.statics.get(row[0], True) for row, fits in self.rows.items()}
        return {row for row in fits if fits[row]}, {row for row in fits if not fits[row]}


def batches(events: list[tuple[dict[str, Any], bool]]) -> Iterator[pa.RecordBatch]:
    in_order = sorted(events, key=lambda each: each[0]["token"])
    yield pa.record_batch(
        {
            "token": pa.array([cells["token"] for cells, _ in in_order], pa.int64()),
            "event": [json.dumps({"cells": cells}) for cells, _ in in_order],
            "is_new": [is_new for _, is_new in in_order],
        }
    )


def changes(merger: Merger, events: list[tuple[dict[str, Any], bool]]) -> list[dict[str, Any]]:
    """Net changes, with `before` and `after` as flags, because Python lacks such years."""
    rows = []
    for batch in merger.changes(batches(events), before_s=5, after_s=5, each=False):
        sides = {name: batch.column(name).is_valid() for name in ("before", "after")}
        others = {name: batch.column(name) for name in batch.schema.names if name not in sides}
        rows += pa.table({**others, **sides}).to_pylist()
    return rows


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("number", range(len(KEYS)))
def test_target_contains_exactly_typed_rows(seed: int, number: int) -> None:
    """A row enters and leaves the target as its values gain and lose a typed form."""
    draw = random.Random(seed)
    table = Table(draw, number)
    merger = Merger(SCHEMA, "ks", f"t{number}")
    known: list[dict[str, Any]] = []
    target: set[bytes] = set()
    rejected = 0
    for step in range(12):
        new = [table.write(100 * step + at) for at in range(draw.randrange(1, 6))]
        events = [*((each, False) for each in known), *((each, True) for each in new)]
        known += new
        for change in changes(merger, events):
            row, op = change["cdc_row_id"], change["op"]
            rejected += change["rejected"] is not None
            assert (change["existed"], change["after"]) == (row in target, op in ("c", "u"))
            assert change["before"] == (op in ("u", "d"))
            match op:
                case "c":
                    assert row not in target
                    target.add(row)
                case "d":
                    target.remove(row)
                case "u":
                    assert row in target
        visible, _ = table.visible()
        # A partition without rows shows its static values.
        alone = {
            p
            for p, fits in table.statics.items()
            if fits and (p, True) in table.keys and not any(row[0] == p for row in table.rows)
        }
        assert len(target) == len(visible) + len(alone)
    assert rejected


def test_rejected_row_is_reported_by_key() -> None:
    values = Values(random.Random(0))
    cells = {
        "id": IDS[0],
        "pk": "AAAABw==",
        "token": 1,
        "kind": "row",
        "ck": "",
        "ckv": ["AAAACQ=="],
    }
    late = text(struct.pack(">q", LAST_MS + 1))
    cells |= {"live": {"ts": 1}, "cell": [{"col": "t", "ts": 1, "val": late}]}
    assert values.fit
    (change,) = changes(Merger(SCHEMA, "ks", "t0"), [(cells, True)])
    assert change["rejected"] == (
        "partition key 0x00000007, clustering 0x00000009, column t: timestamp value: "
        f"{LAST_MS + 1} ms do not fit 64-bit microseconds"
    )
