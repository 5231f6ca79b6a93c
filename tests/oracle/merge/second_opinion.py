"""A second, slow merge: stores every event and decides at each read.

It shares only result types with `tests.oracle.algebra`. It compares two cells step by step, as
`Cells#resolveRegular` does, and applies deletions before it compares cells.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from tests.oracle.algebra.table import Row, RowKey, Value

Member = Mapping[str, Any]


def resolve(left: Member, right: Member) -> Member:
    """The cell that takes precedence of two at one place."""
    if left["ts"] != right["ts"]:
        return left if left["ts"] > right["ts"] else right
    # Only a live cell has no local deletion time.
    if ("ldt" in left) != ("ldt" in right):
        return left if "ldt" in left else right
    if "ldt" in left:
        if ("ttl" in left) != ("ttl" in right):
            return left if "ttl" not in left else right
        if left["ldt"] != right["ldt"]:
            return left if left["ldt"] > right["ldt"] else right
        if left.get("ttl") != right.get("ttl"):
            return left if left["ttl"] < right["ttl"] else right
    if left["val"] != right["val"]:
        return left if b64decode(left["val"]) > b64decode(right["val"]) else right
    return left if _path(left) > _path(right) else right


def _path(cell: Member) -> bytes:
    return b64decode(cell.get("path", ""))


def supersedes(left: Member, right: Member) -> bool:
    """Whether one row liveness replaces the other (`LivenessInfo#supersedes`)."""
    if left["ts"] != right["ts"]:
        return bool(left["ts"] > right["ts"])
    if ("ttl" in left) == ("ttl" in right):
        return bool(left.get("ldt", 0) > right.get("ldt", 0))
    return "ttl" in left


def without(
    events: Iterable[Member], truncated_to_us: int, dropped: Mapping[str, int]
) -> Iterator[Member]:
    """The events of a table, with the times of truncation and of dropped columns."""
    for event in events:
        cells = dict(event["cells"])
        if cells.get("live", {"ts": truncated_to_us})["ts"] <= truncated_to_us:
            cells.pop("live", None)
        cells["cell"] = [
            cell
            for cell in cells.get("cell", ())
            if cell["ts"] > max(truncated_to_us, dropped.get(cell["col"], truncated_to_us))
        ]
        yield {"cells": cells}


def rows(events: Iterable[Member], now_s: int) -> dict[RowKey, Row]:
    """The rows of `SELECT *` for the events of one table."""
    all_cells = [event["cells"] for event in events]
    shown: dict[RowKey, Row] = {}
    for key in {cells["pk"] for cells in all_cells}:
        of_partition = [cells for cells in all_cells if cells["pk"] == key]
        raw_key = b64decode(key)
        partition_deletions = [cells for cells in of_partition if cells["kind"] == "partition"]
        static_writes = [cells for cells in of_partition if cells["kind"] == "static"]
        static = _values(static_writes, partition_deletions, now_s)
        found: dict[RowKey, Row] = {}
        for ck in {cells["ck"] for cells in of_partition if cells["kind"] == "row"}:
            of_row = [c for c in of_partition if c["kind"] == "row" and c["ck"] == ck]
            covering = [*of_row, *(c for c in of_partition if _covers(c, b64decode(ck)))]
            values = _values(of_row, covering, now_s)
            if values or _is_live(of_row, covering, now_s):
                found[raw_key, b64decode(ck)] = values | static
        if static and not found:
            found[raw_key, None] = static
        shown |= found
    return shown


def _covers(cells: Member, ck: bytes) -> bool:
    if cells["kind"] == "range":
        return b64decode(cells["lo"]) <= ck < b64decode(cells["hi"])
    return bool(cells["kind"] == "partition")


def _survives(ts_us: int, covering: Iterable[Member]) -> bool:
    return all(ts_us > cells["del"]["ts"] for cells in covering if "del" in cells)


def _is_live(of_row: Iterable[Member], covering: Iterable[Member], now_s: int) -> bool:
    livenesses = [c["live"] for c in of_row if "live" in c and _survives(c["live"]["ts"], covering)]
    if not livenesses:
        return False
    last = reduce(lambda left, right: left if supersedes(left, right) else right, livenesses)
    return "ttl" not in last or now_s < last["ldt"]


def _values(of_row: Iterable[Member], covering: Iterable[Member], now_s: int) -> Row:
    cells = [cell for c in of_row for cell in c.get("cell", ())]
    complex_deletions = [deletion for c in of_row for deletion in c.get("cdel", ())]
    standing: dict[tuple[str, str | None], Member] = {}
    for cell in cells:
        if not _survives(cell["ts"], covering):
            continue
        if any(d["col"] == cell["col"] and cell["ts"] <= d["ts"] for d in complex_deletions):
            continue
        place = cell["col"], cell.get("key", cell.get("path"))
        standing[place] = resolve(standing[place], cell) if place in standing else cell
    values: dict[str, Value] = {}
    elements: dict[str, dict[bytes, bytes]] = {}
    for (column, _), cell in standing.items():
        if cell["val"] is None or ("ttl" in cell and now_s >= cell["ldt"]):
            continue
        if "path" in cell:
            elements.setdefault(column, {})[_path(cell)] = b64decode(cell["val"])
        else:
            values[column] = b64decode(cell["val"])
    return values | {column: tuple(sorted(paths.items())) for column, paths in elements.items()}
