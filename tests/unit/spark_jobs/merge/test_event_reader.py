"""Every value is either an event that a merge accepts, or is rejected with a reason."""

import json
import pickle
import random
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from commitlog import Schema
from spark_jobs.merge import EventReader, Merger

pytestmark = pytest.mark.heavy

SEEDS = [*range(10), *(pytest.param(each, marks=pytest.mark.slow) for each in range(10, 30))]

TABLE = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
COUNTER = "6a1c395e-b41f-11e5-9f22-ba0be0483c18"
SCHEMA = Schema.from_cql(
    f"CREATE TABLE ks.t (p blob, c blob, v blob, PRIMARY KEY (p, c)) WITH ID = {TABLE};"
    f"CREATE TABLE ks.n (p blob, c blob, v counter, PRIMARY KEY (p, c)) WITH ID = {COUNTER};"
)
MERGERS = {TABLE: Merger(SCHEMA, "ks", "t"), COUNTER: Merger(SCHEMA, "ks", "n")}
READER = EventReader([COUNTER])
NUMBERS = ("0", "-1", "1.5", "1e400", "-0.0", "9" * 30, "9" * 2000, "true", "null", '"x"')


def base64(draw: random.Random, *, length: int = 12) -> str:
    return b64encode(draw.randbytes(draw.randrange(length))).decode()


def drawn_json(draw: random.Random, depth: int = 0) -> str:
    """Any JSON value; strings, names, numbers and nesting are sometimes far longer than usual."""
    match draw.randrange(6 if depth < 4 else 2):
        case 0:
            return draw.choice(NUMBERS)
        case 1:
            text = draw.choice(["", 'a"\\\n', "é\U0001f600\0", '"cells":{"id":"x"}'])
            return json.dumps(text * draw.choice([1, 1, 3, 30_000]))
        case 2:
            levels = draw.choice([1, 2, 1_500])
            return "[" * levels + drawn_json(draw, depth + 1) + "]" * levels
        case 3:
            return "[" + ",".join(drawn_json(draw, depth + 1) for _ in range(3)) + "]"
        case _:
            names = [f"{draw.random()}" * draw.choice([1, 1, 4_000]) for _ in range(2)]
            members = ",".join(f'"{name}":{drawn_json(draw, depth + 1)}' for name in names)
            return f"{{{members}}}"


def drawn_cells(draw: random.Random) -> dict[str, Any]:
    """The `cells` of an event, in the agents' format."""
    kind = draw.choice(["row", "static", "partition", "range"])
    deletion = {"ts": draw.randrange(-(1 << 63), 1 << 63), "ldt": draw.randrange(1 << 31)}
    cells: dict[str, Any] = {
        "kind": kind,
        "id": draw.choice([TABLE, TABLE, COUNTER]),
        "pk": base64(draw),
        "token": draw.randrange(-(1 << 63), 1 << 63),
    }
    if kind == "range":
        return cells | {"lo": base64(draw), "hi": base64(draw), "del": deletion}
    if kind == "partition":
        return cells | {"del": deletion}
    if kind == "row":
        cells |= {"ck": base64(draw), "ckv": [base64(draw)]}
    value = base64(draw, length=draw.choice([2, 20, 2_000]))
    if cells["id"] == COUNTER:
        value = b64encode(b"\0\0").decode()
    return cells | {"cell": [{"col": "v", "ts": draw.randrange(1 << 62), "val": value}]}


def damaged(draw: random.Random, cells: dict[str, Any]) -> dict[str, Any]:
    """The value with a missing or changed member."""
    place = draw.choice([cells, *(cells[name] for name in ("del",) if name in cells)])
    place = draw.choice([place, *cells.get("cell", ())])
    name = draw.choice(sorted(place))
    if draw.random() < 0.5:
        return json.loads(json.dumps(cells)) | {name: None} if place is cells else cells
    place[name] = draw.choice(["", "%", 1.5, [], {}, -1, "x" * 30_000, "range", "é"])
    return cells


def wrapped(draw: random.Random, cells: str) -> str:
    """A value around `cells`: further members, in Connect's `payload` or not."""
    before = f'"before":{drawn_json(draw)},"after":{drawn_json(draw)},'
    value = draw.choice([f'{{"cells":{cells}}}', f'{{{before}"cells":{cells}}}'])
    return draw.choice([value, f'{{"schema":{drawn_json(draw)},"payload":{value}}}'])


def read(*values: bytes) -> list[dict[str, Any]]:
    batch = pa.record_batch(
        [pa.array([str(at) for at in range(len(values))]), pa.array(values, pa.large_binary())],
        names=["place", "value"],
    )
    reader: EventReader = pickle.loads(pickle.dumps(READER))
    (found,) = reader.read_all([batch])
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def merge(row: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """All rows that can be read from a stored event."""
    merger = MERGERS[row["table"]]
    columns = {"token": pa.int64(), "event": pa.string(), "state": pa.binary()}
    batch = pa.table({name: [row.get(name)] for name in columns}, pa.schema(columns))
    states = list(merger.compact(batch.to_batches()))
    yield from merger.rows(batch.to_batches(), now_s=0)
    yield from merger.rows(
        [
            pa.record_batch(
                [each["token"], pa.nulls(len(each), pa.string()), each["state"]],
                names=["token", "event", "state"],
            )
            for each in states
        ],
        now_s=0,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_events_of_agent_are_read_completely(seed: int) -> None:
    """Values have further members and parts of any length."""
    draw = random.Random(seed)
    written = [drawn_cells(draw) for _ in range(20)]
    rows = read(*(wrapped(draw, json.dumps(each)).encode() for each in written))
    assert [row["error"] for row in rows] == [None] * len(written)
    assert [json.loads(row["event"]) for row in rows] == [{"cells": each} for each in written]
    assert [row["token"] for row in rows] == [each["token"] for each in written]
    assert [row["place"] for row in rows] == [str(at) for at in range(len(written))]
    for row in rows:
        list(merge(row))


@pytest.mark.parametrize("seed", SEEDS)
def test_merge_accepts_every_event_not_rejected(seed: int) -> None:
    """The values contain wrong members, truncations and invalid UTF-8."""
    draw = random.Random(seed)
    values = []
    for _ in range(60):
        value = wrapped(draw, json.dumps(damaged(draw, drawn_cells(draw)))).encode()
        if draw.random() < 0.3:
            value = value[: draw.randrange(len(value))]
        if draw.random() < 0.3:
            at = draw.randrange(len(value) + 1)
            value = value[:at] + draw.randbytes(1) + value[at + 1 :]
        values.append(value)
    rejected = 0
    for row in read(*values):
        assert (row["error"] is None) == (row["event"] is not None)
        rejected += row["error"] is not None
        if row["error"] is None and row["table"] in MERGERS:
            list(merge(row))
    assert rejected


def test_very_large_value_is_read() -> None:
    """The value exceeds the largest Cassandra cell that fits into Kafka's default requests."""
    cells = drawn_cells(random.Random(3)) | {"kind": "row", "id": TABLE, "ck": "", "ckv": []}
    size = random.randrange(16 << 20, 24 << 20)
    cells["cell"] = [{"col": "v", "ts": 1, "val": b64encode(bytes(size)).decode()}]
    (row,) = read(json.dumps({"op": "u", "cells": cells}).encode())
    assert row["error"] is None
    (rows,) = MERGERS[TABLE].typed(
        pa.table({"token": [row["token"]], "event": [row["event"]]}).to_batches(), now_s=0
    )
    assert len(rows.column("v")[0].as_py()) == size


def test_batch_without_values_is_rejected() -> None:
    with pytest.raises(KeyError):
        list(READER.read_all([pa.record_batch([pa.array(["x"])], names=["place"])]))
