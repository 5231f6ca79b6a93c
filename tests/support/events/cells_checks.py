"""The member `cells` of events against the reference."""

import base64
from collections.abc import Collection
from pathlib import Path
from typing import Any

import commitlog
from tests.oracle.reference.recordings import Scenario
from tests.support.events.expected_events import Json, expected_events
from tests.support.segments.segment_reading import Event, events, schema_of, unpacked

EVERYTHING = commitlog.EventFormat(
    topic_prefix="test", cluster="cluster", node_id="node", counter_events="shards", all_tables=True
)


def sorted_cells(cells: Json) -> Json:
    """The order of cells is the storage's in events, and that of names and paths in dumps, which
    know nothing of `key`."""
    ordered = dict(cells)
    for member in ("cell", "cdel"):
        if member in ordered:
            plain = [{k: v for k, v in each.items() if k != "key"} for each in ordered[member]]
            ordered[member] = sorted(plain, key=lambda c: (c["col"], c.get("path") or ""))
    return ordered


def check_events(
    found: list[Event], lines: list[Json], dense: Collection[str] = frozenset()
) -> None:
    """The events are those that the dump lines imply, one by one. A row of a `dense` table, by id,
    is its one cell: a tombstone deletes it."""
    expected = [event for line in lines for event in expected_events(line)]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        cells = dict(ours.value["cells"])
        for member in ("token", "ck", "lo", "hi"):
            cells.pop(member, None)
        assert sorted_cells(cells) == sorted_cells(theirs.cells)
        written = theirs.cells.get("cell", [])
        is_deleted = [each["val"] for each in written if "ttl" not in each] == [None]
        is_row = theirs.op == "u" and theirs.kind == "row" and theirs.cells["id"] in dense
        assert ours.value["op"] == ("d" if is_row and is_deleted else theirs.op)
        assert ours.headers["cdc.kind"] == theirs.kind
        assert int(ours.headers["cdc.ts_us"]) == theirs.timestamp_us
        assert ours.value["source"]["ts_us"] == theirs.timestamp_us
        assert ours.value["source"]["pos"] == ours.source[0] == theirs.position


def check_clustering_order(found: list[Event]) -> None:
    """Rows come in the order of the table's comparators, and so must their encodings."""

    def decoded(cells: Json, member: str) -> bytes:
        return base64.b64decode(cells[member])

    last: dict[Any, bytes] = {}
    for event in found:
        cells = event.value["cells"]
        update = (event.source[0], cells["id"])
        if cells["kind"] == "row":
            at = decoded(cells, "ck")
            assert last.get(update, b"") <= at
            last[update] = at
        elif cells["kind"] == "range":
            low, high = decoded(cells, "lo"), decoded(cells, "hi")
            assert last.get(update, b"") <= low < high
            last[update] = low


def identity(event: Event) -> str:
    """The content that the event id stands for: all but local deletion times."""

    def without_times(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without_times(v) for k, v in value.items() if k not in ("ldt", "token")}
        if isinstance(value, list):
            return [without_times(entry) for entry in value]
        return value

    bounds = event.value["after"]
    methods = [bounds["_range_start"], bounds["_range_end"]]
    ranges = [bound and (bound["method"], len(bound["values"])) for bound in methods]
    return repr((without_times(sorted_cells(event.value["cells"])), ranges))


def recorded_events(
    scenario: Scenario, folder: Path, event_format: commitlog.EventFormat = EVERYTHING
) -> dict[str, list[Event]]:
    """Events by segment."""
    schema = schema_of(scenario)
    return {
        name: events(unpacked(path, name, folder), schema, event_format)
        for path, name in scenario.segments()
    }
