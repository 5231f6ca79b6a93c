"""The segments of the agents, read by Cassandra's own reader."""

import json
from pathlib import Path

import commitlog
from tests.acceptance.kill.checks import COMPLETED
from tests.integration.spark.golden.cluster_harness import NODES, ClusterHarness
from tests.integration.spark.golden.logged_events import LoggedEvent, Place, logged_events
from tests.support.events.expected_events import Json
from tests.support.servers.cassandra import segment_id
from tests.support.servers.java_reader import dump_segments


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
