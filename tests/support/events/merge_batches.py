"""Input batches of `spark_jobs.merge`, and its output in the form of `tests.oracle.algebra`."""

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from commitlog import Schema
from tests.oracle.algebra import Row, RowKey, Table, Value

TEXT = """
CREATE TABLE ks.t (
    k int, c blob, a blob, b blob, m map<blob, blob>, me map<blob, blob>, s blob static,
    ms map<blob, blob> static, PRIMARY KEY (k, c)
) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c01;
CREATE TABLE ks.n (k blob, c blob, n counter, PRIMARY KEY (k, c))
    WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c02;
"""
SCHEMA = Schema.from_cql(TEXT)
"""`ks.t` has the columns of `tests.oracle.merge.event_strategies`, `ks.n` those of
`tests.support.events.counter_events`."""

INPUT = pa.schema(
    {"token": pa.int64(), "event": pa.string(), "state": pa.binary(), "is_new": pa.bool_()}
)
Item = tuple[int, Mapping[str, Any] | bytes, bool]
"""Token, an event or a state, whether it is new."""


def table_of(
    events: Iterable[Mapping[str, Any]],
    truncated_us: int | None = None,
    *,
    has_counters: bool = False,
) -> Table:
    """The merge in plain Python."""
    table = Table(has_counters=has_counters)
    for event in events:
        table.apply(event)
    if truncated_us is not None:
        table.truncate(truncated_us)
    return table


def items(events: Iterable[Mapping[str, Any]], *, is_new: bool = False) -> list[Item]:
    return [(event["cells"]["token"], event, is_new) for event in events]


def states(batches: Iterable[pa.RecordBatch], *, is_superseded: bool = False) -> list[Item]:
    """The states in the output of `compact`, as input."""
    return [
        (row["token"], row["state"], False)
        for batch in batches
        for row in batch.to_pylist()
        if row["is_superseded"] is is_superseded
    ]


def input_batches(content: Iterable[Item], size: int = 1000) -> Iterator[pa.RecordBatch]:
    """Sorted batches of `size` rows. The sort is stable."""
    rows = [
        {
            "token": token,
            "event": None if isinstance(part, bytes) else json.dumps(part),
            "state": part if isinstance(part, bytes) else None,
            "is_new": is_new,
        }
        for token, part, is_new in sorted(content, key=lambda item: item[0])
    ]
    for start in range(0, len(rows), size):
        yield pa.RecordBatch.from_pylist(rows[start : start + size], INPUT)


def raw_rows(batches: Iterable[pa.RecordBatch]) -> dict[RowKey, Row]:
    """The output of `rows`, in its order."""
    return {
        (row["pk"], row["ck"]): values_of([*row["cells"], *row["statics"]])
        for batch in batches
        for row in batch.to_pylist()
    }


def values_of(cells: Iterable[Any]) -> Row:
    """The values of cells, which are mappings or rows of Spark."""
    values: dict[str, Value] = {}
    elements: dict[str, dict[bytes, bytes]] = {}
    for cell in cells:
        if cell["path"] is None:
            assert cell["column"] not in values
            values[cell["column"]] = bytes(cell["value"])
        else:
            of_column = elements.setdefault(cell["column"], {})
            assert bytes(cell["path"]) not in of_column
            of_column[bytes(cell["path"])] = bytes(cell["value"])
    return values | {column: tuple(sorted(paths.items())) for column, paths in elements.items()}


def typed_rows(table: Table, now_s: int) -> list[dict[str, Any]]:
    """The rows of a merged table with the columns of `ks.t`, in the order of `SELECT *`."""
    names = ("ms", "s", "a", "b", "m", "me")
    return [
        {"k": int.from_bytes(key[0], "big"), "c": (*table.clustering(key), None)[0]}
        | {name: _typed(row.get(name)) for name in names}
        for key, row in table.rows(now_s).items()
    ]


def _typed(value: Value | None) -> Any:
    return list(value) if isinstance(value, tuple) else value


def until(events: Iterable[Mapping[str, Any]], until_us: int) -> Iterator[dict[str, Any]]:
    """The events without writes after a time."""
    return _filtered(events, lambda ts_us: ts_us <= until_us)


def without(
    events: Iterable[Mapping[str, Any]], from_us: int, to_us: int
) -> Iterator[dict[str, Any]]:
    """The events without writes of a time."""
    return _filtered(events, lambda ts_us: not from_us <= ts_us <= to_us)


def _filtered(events: Iterable[Mapping[str, Any]], admits: Any) -> Iterator[dict[str, Any]]:
    for event in events:
        cells = dict(event["cells"])
        written_us = {cell["ts"] for cell in cells.get("cell", ())}
        if "live" in cells:
            written_us.add(cells["live"]["ts"])
        for name in ("live", "del"):
            if name in cells and not admits(cells[name]["ts"]):
                del cells[name]
        if "cell" in cells:
            cells["cell"] = [cell for cell in cells["cell"] if admits(cell["ts"])]
        if "cdel" in cells:
            # A replaced collection is deleted one microsecond before its statement.
            cells["cdel"] = [
                deletion
                for deletion in cells["cdel"]
                if admits(deletion["ts"] + (deletion["ts"] + 1 in written_us))
            ]
        if cells["kind"] in ("row", "static") or "del" in cells:
            yield {"cells": cells}


def clustering_of(event: Mapping[str, Any]) -> bytes:
    """The `ck` of an event of a row."""
    return b64decode(event["cells"]["ck"])
