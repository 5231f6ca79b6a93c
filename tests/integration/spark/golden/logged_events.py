"""Events from Cassandra's own reader of segments, in a form that compares.

A place is the origin of an event: node, segment, end of the mutation, number in the mutation. Two
places have one *canonical event* if their content is equal except for local deletion times, which
each attempt of a statement sets (docs/reference/event-format.md, section 6).
"""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import commitlog
from tests.acceptance.kill.checks import COMPLETED
from tests.integration.spark.golden.cluster_harness import NODES, ClusterHarness
from tests.support.events.cells_checks import sorted_cells
from tests.support.events.expected_events import Json, expected_events
from tests.support.servers.cassandra import segment_id
from tests.support.servers.java_reader import dump_segments

_CLOSED_BY = {
    "EXCL_END_INCL_START_BOUNDARY": ("EXCL_END_BOUND", "INCL_START_BOUND"),
    "INCL_END_EXCL_START_BOUNDARY": ("INCL_END_BOUND", "EXCL_START_BOUND"),
}


class Place(NamedTuple):
    """Position of an event, in the order of a node's log."""

    node: str
    segment_id: int
    position: int
    number: int
    """Index among the events of the mutation."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event of a log. `cells` omits implementation details; `canonical` is the content."""

    kind: str
    op: str
    ts_us: int
    cells: Json
    canonical: Hashable


def logged_events(node: str, lines: Iterable[Json]) -> dict[Place, LoggedEvent]:
    """The events in dump lines of a node, in the order of the log."""
    found: dict[Place, LoggedEvent] = {}
    index: dict[tuple[int, int], int] = {}
    for line in lines:
        segment_id = int(line["segment"].removesuffix(".log").rpartition("-")[2])
        ranges = _ranges(line["items"])
        for event in expected_events(line):
            mutation = segment_id, line["pos"]
            number = index.get(mutation, 0)
            index[mutation] = number + 1
            cells = sorted_cells(event.cells)
            bounds = next(ranges) if event.kind == "range" else None
            canonical = _frozen((_without_local_times(cells), bounds))
            found[Place(node, *mutation, number)] = LoggedEvent(
                event.kind, event.op, event.timestamp_us, cells, canonical
            )
        assert next(ranges, None) is None
    return found


def cells_of_event(value: Mapping[str, Any]) -> Json:
    """`cells` of the value of a record, as in `LoggedEvent.cells`."""
    own = ("token", "ck", "lo", "hi")
    return sorted_cells({k: v for k, v in value["cells"].items() if k not in own})


def _ranges(items: Iterable[Json]) -> Iterator[tuple[str, Any, str, Any]]:
    """Both bounds of each range, with their kinds."""
    opened: tuple[str, Any] | None = None
    for item in items:
        if item["t"] == "row":
            continue
        if item["t"] == "boundary":
            closing, opening = _CLOSED_BY[item["kind"]]
            assert opened is not None
            yield (*opened, closing, item["ck"])
            opened = opening, item["ck"]
        elif "START" in item["kind"]:
            opened = item["kind"], item["ck"]
        else:
            assert opened is not None
            yield (*opened, item["kind"], item["ck"])
            opened = None
    assert opened is None


def _without_local_times(value: Any) -> Any:
    """Drop local deletion times. A tombstone is still recognized by its missing value."""
    if isinstance(value, dict):
        return {k: _without_local_times(v) for k, v in value.items() if k != "ldt"}
    if isinstance(value, list):
        return [_without_local_times(entry) for entry in value]
    return value


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((k, _frozen(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    assert isinstance(value, Hashable)
    return value


def read_logs(cluster: ClusterHarness, schema: Path) -> dict[Place, LoggedEvent]:
    """Every event of every node, up to the final offset of its stopped agent. `schema` is a file of
    CQL."""
    published = {
        table.id
        for table in commitlog.Schema.from_cql(schema.read_text()).tables()
        if table.cdc and table.kind == "table"
    }
    node_of: dict[str, str] = {}
    segments: dict[str, Path] = {}
    ends: dict[tuple[str, int], int] = {}
    for name, node, agent in zip(NODES, cluster.nodes, cluster.agents, strict=True):
        archived = {path.name: path for path in agent.archive.glob("CommitLog-*.log")}
        linked = {path.name: path for path in node.cdc_raw.glob("CommitLog-*.log")}
        assert not node_of.keys() & (archived | linked).keys(), (
            "two nodes with one name of a segment"
        )
        segments |= linked | archived
        node_of |= dict.fromkeys(linked | archived, name)
        ends |= {(name, number): end for number, end in agent.runs[-1].stored.items()}
        ends |= {(name, segment_id(path)): COMPLETED for path in archived.values()}
    dump = dump_segments(
        sorted(segments.values(), key=segment_id), schema, tolerate_truncation=True
    )
    lines: dict[str, list[Json]] = {name: [] for name in NODES}
    for line in map(json.loads, dump.ndjson.splitlines()):
        if line["id"] in published:
            lines[node_of[line["segment"]]].append(line)
    return {
        place: event
        for name, of_node in lines.items()
        for place, event in logged_events(name, of_node).items()
        if place.position <= ends.get((name, place.segment_id), 0)
    }
