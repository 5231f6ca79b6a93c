"""Every event of every recording, against Cassandra's own reading of the same mutation."""

import base64
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import commitlog
from tests.oracle.reference.recordings import Scenario, scenarios
from tests.unit.commitlog.core.reading import Event, events, schema_of, unpacked

from .expected import Json, expected_events

SCENARIOS = scenarios()
EVERYTHING = commitlog.EventFormat(
    topic_prefix="test",
    cluster="cluster",
    node_id="node",
    counter_events="shards",
    all_tables=True,
)


def recorded_events(
    scenario: Scenario, folder: Path, event_format: commitlog.EventFormat = EVERYTHING
) -> dict[str, list[Event]]:
    """Events by segment."""
    schema = schema_of(scenario)
    return {
        name: events(unpacked(path, name, folder), schema, event_format)
        for path, name in scenario.segments()
    }


def published_lines(scenario: Scenario) -> dict[str, list[Json]]:
    """Dump lines by segment, without tables that give no events."""
    silent = {table.id for table in schema_of(scenario).tables() if table.kind == "view"}
    lines: dict[str, list[Json]] = defaultdict(list)
    for line in scenario.expected():
        if line["id"] not in silent:
            lines[line["segment"]].append(line)
    return lines


def sorted_cells(cells: Json) -> Json:
    """The order of cells is the storage's in events, and that of names and paths in dumps, which
    know nothing of `key`."""
    ordered = dict(cells)
    for member in ("cell", "cdel"):
        if member in ordered:
            plain = [{k: v for k, v in each.items() if k != "key"} for each in ordered[member]]
            ordered[member] = sorted(plain, key=lambda c: (c["col"], c.get("path") or ""))
    return ordered


def check_events(found: list[Event], lines: list[Json]) -> None:
    """The events are those that the dump lines imply, one by one."""
    expected = [event for line in lines for event in expected_events(line)]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        cells = dict(ours.value["cells"])
        for member in ("token", "ck", "lo", "hi"):
            cells.pop(member, None)
        assert sorted_cells(cells) == sorted_cells(theirs.cells)
        assert ours.value["op"] == theirs.op
        assert ours.headers["cdc.kind"] == theirs.kind
        assert int(ours.headers["cdc.ts_us"]) == theirs.timestamp_us
        assert ours.value["source"]["ts_us"] == theirs.timestamp_us
        assert ours.value["source"]["pos"] == ours.source[0] == theirs.position


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_events_say_what_cassandra_reads(scenario: Scenario, tmp_path: Path) -> None:
    lines = published_lines(scenario)
    for segment, found in recorded_events(scenario, tmp_path).items():
        check_events(found, lines[segment])


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_events_of_one_mutation_are_counted_from_zero(scenario: Scenario, tmp_path: Path) -> None:
    for found in recorded_events(scenario, tmp_path).values():
        positions: dict[int, int] = {}
        for event in found:
            position, index = event.source
            assert index == positions.get(position, 0)
            positions[position] = index + 1
        assert list(positions) == sorted(positions)


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


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_byte_comparable_clusterings_keep_storage_order(scenario: Scenario, tmp_path: Path) -> None:
    for found in recorded_events(scenario, tmp_path).values():
        check_clustering_order(found)


def check_element_order(found: list[Event]) -> int:
    """Elements come in the order of their type, and so must their keys; how many have one."""
    count = 0
    for event in found:
        last: dict[str, bytes] = {}
        for cell in event.value["cells"].get("cell", ()):
            if "key" in cell:
                key = base64.b64decode(cell["key"])
                assert last.get(cell["col"], b"") < key
                last[cell["col"]] = key
                count += 1
    return count


def test_keys_of_elements_keep_storage_order(tmp_path: Path) -> None:
    counts = [
        check_element_order(found)
        for scenario in SCENARIOS
        for found in recorded_events(scenario, tmp_path).values()
    ]
    assert sum(counts) > 100


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


def test_ids_are_equal_exactly_where_the_content_is(tmp_path: Path) -> None:
    contents: dict[str, str] = {}
    ids: dict[str, str] = {}
    for scenario in SCENARIOS:
        for found in recorded_events(scenario, tmp_path).values():
            for event in found:
                event_id, content = event.headers["cdc.id"], identity(event)
                assert contents.setdefault(event_id, content) == content
                assert ids.setdefault(content, event_id) == event_id
    assert len(ids) > 500


CLUSTERS = sorted({each.folder.parent for each in SCENARIOS if "three-nodes" in str(each)})


@pytest.mark.parametrize("cluster", CLUSTERS, ids=str)
def test_replicas_give_the_same_ids(cluster: Path, tmp_path: Path) -> None:
    """Every node of a three-node cluster reports each write that all have under one id."""
    first, *others = (
        {
            event.headers["cdc.id"]
            for found in recorded_events(scenario, tmp_path).values()
            for event in found
        }
        for scenario in SCENARIOS
        if scenario.folder.parent == cluster
    )
    assert first
    assert len(others) == 2
    assert all(other == first for other in others)
