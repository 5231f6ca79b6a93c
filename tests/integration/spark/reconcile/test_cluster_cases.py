"""What a real cluster does to events besides copying them, made of recorded events.

Each case is a table of its own: the events of a recorded one, then what retries, repairs and
expiry add to them.
"""

import copy
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.reconcile.versions import latest
from spark_jobs.reconcile.visible_rows import visible_rows
from spark_jobs.source.cells import read_cells
from tests.oracle.merge import second_opinion
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.merged_recordings import read
from tests.support.spark.forms import EventValue, by_table, frame, named, shown
from tests.support.spark.versions import to_versions

Case = Callable[[list[EventValue]], Iterable[EventValue]]
RECORDINGS = ("5.0/ttl", "5.0/deletions", "5.0/collections")
FAR_S = 4_000_000_000


def one_copy(events: list[EventValue]) -> list[EventValue]:
    """A write in only one log."""
    return []


def seven_copies(events: list[EventValue]) -> list[EventValue]:
    """A replayed batch log."""
    return events * 6


def attempts(events: list[EventValue]) -> list[EventValue]:
    """A statement that is retried two seconds later: equal write times, other local ones."""
    tried = copy.deepcopy(events)
    for event in tried:
        cells = event["cells"]
        times = [
            cells.get("del"),
            cells.get("live"),
            *cells.get("cdel", ()),
            *cells.get("cell", ()),
        ]
        for member in times:
            if member and "ldt" in member:
                member["ldt"] += 2
    return tried


def bundles(events: list[EventValue]) -> list[EventValue]:
    """Repair sends a row of an SSTable: cells of several statements in one event."""
    by_row: dict[tuple[str, str, str], EventValue] = {}
    for event in copy.deepcopy(events):
        cells = event["cells"]
        if cells["kind"] == "row" and "del" not in cells:
            place = cells["id"], cells["pk"], cells["ck"]
            row = by_row.setdefault(place, event)["cells"]
            if row is not cells:
                row["cell"] = [*row.get("cell", ()), *cells.get("cell", ())]
                row["cdel"] = [*row.get("cdel", ()), *cells.get("cdel", ())]
    return list(by_row.values())


def range_pieces(events: list[EventValue]) -> list[EventValue]:
    """Read repair sends the piece of a range deletion that a replica lacks."""
    pieces = []
    for event in copy.deepcopy(events):
        cells = event["cells"]
        if cells["kind"] == "range":
            cells["lo"] = b64encode(b64decode(cells["lo"]) + b"\0").decode()
            pieces.append(event)
    return pieces


def expired_as_tombstones(events: list[EventValue]) -> list[EventValue]:
    """Read repair sends an expired cell as a tombstone of the second of its write."""
    found = []
    for event in copy.deepcopy(events):
        expired = [cell for cell in event["cells"].get("cell", ()) if "ttl" in cell]
        for cell in expired:
            cell["ldt"] -= cell.pop("ttl")
            cell["val"] = None
        if expired:
            event["cells"]["cell"] = expired
            event["cells"].pop("live", None)
            found.append(event)
    return found


ABSORBED: tuple[Case, ...] = (one_copy, seven_copies, bundles, range_pieces)
"""Tables without visible rows at any second."""
CASES: tuple[Case, ...] = (*ABSORBED, attempts, expired_as_tombstones)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[EventValue]:
    """The events of some tables from one node."""
    folder = tmp_path_factory.mktemp("segments")
    return [event.value for name in RECORDINGS for event in read(Scenario(OWN, OWN / name), folder)]


def test_every_case_returns_the_rows_of_cassandra(
    spark: SparkSession, tmp_path: Path, recorded: list[EventValue]
) -> None:
    events: dict[str, list[EventValue]] = {}
    now_s: dict[str, int] = {}
    second = max(
        cell["ldt"]
        for value in recorded
        for cell in value["cells"].get("cell", ())
        if "ttl" in cell
    )
    for case in CASES:
        for value in [*recorded, *case(recorded)]:
            table = f"{case.__name__}@{value['cells']['id']}"
            events.setdefault(table, []).append(named(table, value))
            now_s[table] = second - 1 if case in ABSORBED else FAR_S
    values = [value for of_table in events.values() for value in of_table]
    versions = latest(to_versions(read_cells(frame(spark, tmp_path, values)), 4))
    found = shown(visible_rows(versions, by_table(now_s)))
    for table, of_table in events.items():
        assert found.get(table, {}) == second_opinion.rows(of_table, now_s[table]), table
    for case in ABSORBED:
        for table in {value["cells"]["id"] for value in recorded}:
            alone = found.get(f"one_copy@{table}")
            assert found.get(f"{case.__name__}@{table}") == alone


def test_every_case_adds_events(recorded: list[EventValue]) -> None:
    assert all(list(case(recorded)) for case in CASES if case is not one_copy)


def test_a_merged_counter_context_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Read repair sends all shards of a counter in one cell."""

    def counted(ts: int, *shards: tuple[bytes, int, int]) -> EventValue:
        marks = b"".join(struct.pack(">h", at - 32768) for at in range(len(shards)))
        raw = b"".join(struct.pack(">16sqq", *shard) for shard in shards)
        context = struct.pack(">h", len(shards)) + marks + raw
        cell = {"col": "n", "ts": ts, "val": b64encode(context).decode()}
        place = {"kind": "row", "id": "c", "pk": "aw==", "token": 1, "ck": "", "ckv": []}
        return {"cells": place | {"cell": [cell]}}

    one, other, later = (b"a" * 16, 1, 5), (b"b" * 16, 1, -2), (b"a" * 16, 2, 7)
    values = [counted(1, one), counted(2, other), counted(3, later), counted(3, later, other)]
    versions = latest(to_versions(read_cells(frame(spark, tmp_path, values)), 4, ["c"]))
    assert shown(visible_rows(versions, 0)) == {"c": {(b"k", b""): {"n": (5).to_bytes(8, "big")}}}
