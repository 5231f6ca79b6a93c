"""Events of recorded segments, with the types of real tables, merge as in plain Python.

They still do with the events that retries, repairs and expiry of a real cluster add."""

import copy
import json
import random
import struct
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import commitlog
from spark_jobs.merge import Merger
from tests.oracle.algebra import Row, RowKey, Table
from tests.oracle.merge import second_opinion
from tests.oracle.reference.recordings import OWN, Scenario, rows, scenarios
from tests.support.events.merge_batches import SCHEMA, Item, input_batches, items, raw_rows, states
from tests.support.segments.merged_recordings import read, seconds
from tests.support.segments.segment_reading import schema_of

SEED = 25


def merger_of(schema: commitlog.Schema, table_id: str) -> Merger:
    (table,) = (table for table in schema.tables() if table.id == table_id)
    return Merger(schema, table.keyspace, table.name, table_id=table_id)


def shown(merger: Merger, content: list[Item], at_s: list[int]) -> list[Any]:
    return [list(raw_rows(merger.rows(input_batches(content), now_s=s)).items()) for s in at_s]


@pytest.mark.heavy
@pytest.mark.parametrize("scenario", rows(scenarios()))
def test_recordings_merge_as_in_plain_python(scenario: Scenario, tmp_path: Path) -> None:
    found = read(scenario, tmp_path)
    schema = schema_of(scenario)
    generator = random.Random(SEED)
    of_tables = defaultdict(list)
    for event in found:
        of_tables[event.value["cells"]["id"]].append(event)
    for table_id, events in of_tables.items():
        merger = merger_of(schema, table_id)
        table = Table()
        for column, ts_us in dropped(schema, table_id).items():
            table.drop(column, ts_us)
        for event in events:
            table.apply(event.value)
        at_s = seconds(events)
        names = set(merger.typed_schema.names)
        expected = [
            [
                (key, {name: value for name, value in row.items() if name in names})
                for key, row in table.rows(now_s).items()
            ]
            for now_s in at_s
        ]
        content = items(event.value for event in events)
        assert shown(merger, content, at_s) == expected
        generator.shuffle(content)
        half = len(content) // 2
        base = states(merger.compact(input_batches(content[:half])))
        assert shown(merger, [*content[half:], *base], at_s) == expected
        changes = merger.changes(
            input_batches([(token, part, True) for token, part, _ in content]),
            before_s=at_s[0],
            after_s=at_s[0],
            each=False,
        )
        after = [pa.RecordBatch.from_struct_array(b.column("after")) for b in changes]
        typed = merger.typed(input_batches(content), now_s=at_s[0])
        assert serialized(after) == serialized([b.drop_columns(["cdc_row_id"]) for b in typed])


def serialized(batches: list[pa.RecordBatch]) -> bytes | None:
    """The bytes of all rows; NaN equals NaN."""
    return pa.concat_batches(batches).serialize().to_pybytes() if batches else None


def dropped(schema: commitlog.Schema, table_id: str) -> dict[str, int]:
    """The last drop of each column."""
    stored = json.loads(schema.to_stored())["tables"]
    return {
        column["name"]: max(column["drops_us"])
        for table in stored
        if table["id"] == table_id
        for column in [*table["static"], *table["regular"]]
        if column["drops_us"]
    }


EventValue = dict[str, Any]
Rows = dict[RowKey, Row]
Case = Callable[[list[EventValue]], Iterable[EventValue]]
RECORDINGS = ("5.0/ttl", "5.0/deletions", "5.0/collections")
FAR_S = 4_000_000_000


def one_copy(events: list[EventValue]) -> list[EventValue]:
    """A write in a single log."""
    return []


def seven_copies(events: list[EventValue]) -> list[EventValue]:
    """A replayed batch log."""
    return events * 6


def attempts(events: list[EventValue]) -> list[EventValue]:
    """A statement retried two seconds later: equal write times, different local deletion times."""
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


def rows_of_table(
    schema: commitlog.Schema, table_id: str, values: list[EventValue], now_s: int
) -> Rows:
    (table,) = (each for each in schema.tables() if each.id == table_id)
    merger = Merger(schema, table.keyspace, table.name, table_id=table_id)
    return raw_rows(merger.rows(input_batches(items(values)), now_s=now_s))


def test_repeated_and_repaired_events_yield_rows_of_cassandra(
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
            shown[case] = rows_of_table(schema, table_id, given, now_s)
            assert shown[case] == second_opinion.rows(given, now_s), (table_id, case)
        assert all(shown[case] == shown[one_copy] for case in ABSORBED)


def test_retry_and_repair_cases_add_events(tmp_path: Path) -> None:
    values = [
        event.value for name in RECORDINGS for event in read(Scenario(OWN, OWN / name), tmp_path)
    ]
    assert all(list(case(values)) for case in CASES if case is not one_copy)


def test_merged_counter_context_changes_nothing() -> None:
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
    found = raw_rows(Merger(SCHEMA, "ks", "n").rows(input_batches(items(values)), now_s=0))
    assert found == {(b"k", b""): {"n": (5).to_bytes(8, "big")}}
