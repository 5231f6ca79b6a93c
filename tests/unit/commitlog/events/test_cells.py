"""Every event of the recordings matches Cassandra's own reading of the same mutation."""

import base64
from collections import defaultdict
from itertools import chain
from uuid import UUID

import pytest

from tests.oracle.reference import parse_schema
from tests.oracle.reference.recordings import Scenario, rows, sampled, scenarios
from tests.support.events.after_checks import check_after, static_columns
from tests.support.events.cells_checks import (
    check_clustering_order,
    check_events,
    identity,
    recorded_events,
)
from tests.support.events.expected_events import Json
from tests.support.segments.segment_reading import Event, schema_of

SCENARIOS = scenarios()
Recorded = tuple[Scenario, dict[str, list[Event]]]


@pytest.fixture(scope="module", params=rows(SCENARIOS))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A scenario, and its events by segment."""
    return request.param, recorded_events(request.param, tmp_path_factory.mktemp("segments"))


def test_events_match_cassandras_own_reader(recorded: Recorded) -> None:
    """Views are excluded, because they yield no events."""
    scenario, events = recorded
    silent = {table.id for table in schema_of(scenario).tables() if table.kind == "view"}
    lines: dict[str, list[Json]] = defaultdict(list)
    for line in scenario.expected():
        if line["id"] not in silent:
            lines[line["segment"]].append(line)
    for segment, found in events.items():
        check_events(found, lines[segment])


def test_after_equals_cells(recorded: Recorded) -> None:
    """Counters are excluded: their `after` holds shards."""
    scenario, events = recorded
    text = (scenario.folder / "schema.cql").read_text(encoding="utf-8")
    tables, statics = parse_schema(text).tables, static_columns(text)
    counters = {table.id for table in schema_of(scenario).tables() if table.counter}
    for event in chain(*events.values()):
        table_id = event.value["cells"]["id"]
        if table_id not in counters:
            check_after(event, tables[UUID(table_id)], statics.get(table_id, set()))


def test_events_of_mutation_are_ordered_and_numbered_from_zero(recorded: Recorded) -> None:
    _, events = recorded
    for found in events.values():
        positions: dict[int, int] = {}
        for event in found:
            position, index = event.source
            assert index == positions.get(position, 0)
            positions[position] = index + 1
        assert list(positions) == sorted(positions)
        check_clustering_order(found)
        check_element_order(found)


def check_element_order(found: list[Event]) -> None:
    """Elements follow the order of their type, and so do their keys."""
    for event in found:
        last: dict[str, bytes] = {}
        for cell in event.value["cells"].get("cell", ()):
            if "key" in cell:
                key = base64.b64decode(cell["key"])
                assert last.get(cell["col"], b"") < key
                last[cell["col"]] = key


def check_ids(found: list[Event]) -> None:
    """Two ids are equal exactly if their contents are."""
    contents: dict[str, str] = {}
    ids: dict[str, str] = {}
    for event in found:
        event_id, content = event.headers["cdc.id"], identity(event)
        assert contents.setdefault(event_id, content) == content
        assert ids.setdefault(content, event_id) == event_id
    assert len(ids) > 500


@pytest.mark.parametrize(
    "read", [sampled(SCENARIOS), pytest.param(SCENARIOS, marks=pytest.mark.slow)], ids=len
)
def test_equal_content_has_equal_id_on_all_replicas(
    read: list[Scenario], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every node of a three-node cluster reports a replicated write under the same id."""
    every: list[Event] = []
    clusters = defaultdict(list)
    for scenario in read:
        events = recorded_events(scenario, tmp_path_factory.mktemp("segments"))
        every += chain(*events.values())
        if scenario.folder.parent.name == "three-nodes":
            clusters[scenario.folder.parent].append(
                {event.headers["cdc.id"] for event in chain(*events.values())}
            )
    check_ids(every)
    keyed = [cell for event in every for cell in event.value["cells"].get("cell", ())]
    assert sum("key" in cell for cell in keyed) > 50
    assert clusters
    for first, *others in clusters.values():
        assert first
        assert others == [first, first]
