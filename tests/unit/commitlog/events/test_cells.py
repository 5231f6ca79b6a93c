"""Every event of every recording, against Cassandra's own reading of the same mutation."""

import base64
from collections import defaultdict
from pathlib import Path

import pytest

from tests.oracle.reference.recordings import Scenario
from tests.support.events.cells_checks import (
    SCENARIOS,
    check_clustering_order,
    check_events,
    identity,
    recorded_events,
)
from tests.support.events.expected_events import Json
from tests.support.segments.segment_reading import Event, schema_of


def published_lines(scenario: Scenario) -> dict[str, list[Json]]:
    """Dump lines by segment, without tables that give no events."""
    silent = {table.id for table in schema_of(scenario).tables() if table.kind == "view"}
    lines: dict[str, list[Json]] = defaultdict(list)
    for line in scenario.expected():
        if line["id"] not in silent:
            lines[line["segment"]].append(line)
    return lines


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_events_match_cassandras_own_reader(scenario: Scenario, tmp_path: Path) -> None:
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
