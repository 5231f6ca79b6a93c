"""What a real cluster does to events besides copying them, made of recorded events.

Each case has the events of a recorded table, then what retries, repairs and expiry add to them.
"""

import copy
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import commitlog
from commitlog.merge import Merger
from tests.oracle.algebra import Row, RowKey
from tests.oracle.merge import second_opinion
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.events.merge_batches import SCHEMA, input_batches, items, raw_rows
from tests.support.segments.merged_recordings import read
from tests.support.segments.segment_reading import schema_of

EventValue = dict[str, Any]
Rows = dict[RowKey, Row]
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
"""Cases that change no row."""
CASES: tuple[Case, ...] = (*ABSORBED, attempts, expired_as_tombstones)


@pytest.fixture(scope="module", params=RECORDINGS)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[commitlog.Schema, list[EventValue]]:
    """The schema and the events of some tables from one node."""
    scenario = Scenario(OWN, OWN / request.param)
    found = read(scenario, tmp_path_factory.mktemp("segments"))
    return schema_of(scenario), [event.value for event in found]


def rows(schema: commitlog.Schema, table_id: str, values: list[EventValue], now_s: int) -> Rows:
    (table,) = (each for each in schema.tables() if each.id == table_id)
    merger = Merger(schema, table.keyspace, table.name, table_id=table_id)
    return raw_rows(merger.rows(input_batches(items(values)), now_s=now_s))


def test_every_case_returns_the_rows_of_cassandra(
    recorded: tuple[commitlog.Schema, list[EventValue]],
) -> None:
    schema, values = recorded
    of_tables: dict[str, list[EventValue]] = {}
    for value in values:
        of_tables.setdefault(value["cells"]["id"], []).append(value)
    ends = (cell.get("ttl") and cell["ldt"] for v in values for cell in v["cells"].get("cell", ()))
    second = max(filter(None, ends), default=FAR_S)
    for table_id, events in of_tables.items():
        shown = {}
        for case in CASES:
            now_s = second - 1 if case in ABSORBED else FAR_S
            given = [*events, *case(events)]
            shown[case] = rows(schema, table_id, given, now_s)
            assert shown[case] == second_opinion.rows(given, now_s), (table_id, case)
        assert all(shown[case] == shown[one_copy] for case in ABSORBED)


def test_every_case_adds_events(tmp_path: Path) -> None:
    values = [
        event.value for name in RECORDINGS for event in read(Scenario(OWN, OWN / name), tmp_path)
    ]
    assert all(list(case(values)) for case in CASES if case is not one_copy)


def test_a_merged_counter_context_changes_nothing() -> None:
    """Read repair sends all shards of a counter in one cell."""

    def counted(ts: int, *shards: tuple[bytes, int, int]) -> EventValue:
        marks = b"".join(struct.pack(">h", at - 32768) for at in range(len(shards)))
        raw = b"".join(struct.pack(">16sqq", *shard) for shard in shards)
        context = struct.pack(">h", len(shards)) + marks + raw
        cell = {"col": "n", "ts": ts, "val": b64encode(context).decode()}
        place = {"kind": "row", "pk": "aw==", "token": 1, "ck": "", "ckv": [""]}
        return {"cells": place | {"cell": [cell]}}

    one, other, later = (b"a" * 16, 1, 5), (b"b" * 16, 1, -2), (b"a" * 16, 2, 7)
    values = [counted(1, one), counted(2, other), counted(3, later), counted(3, later, other)]
    merger = Merger(SCHEMA, "ks", "n")
    found = raw_rows(merger.rows(input_batches(items(values)), now_s=0))
    assert found == {(b"k", b""): {"n": (5).to_bytes(8, "big")}}
