"""Messages of the schema-change topic: their order, their ids and repeats after a kill."""

import gzip
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from agent.cdc_raw.names import SegmentName
from agent.pipeline.reader import open_with
from commitlog import Schema
from sidecar.transform import Event
from tests.oracle.reference.recordings import OWN
from tests.oracle.writer import segment
from tests.support.agents.agent_directory import SCHEMA, payload
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.segments.recorded_segments import FORMAT, over_segments, put
from tests.support.sinks.memory_sink import MemorySink

pytestmark = pytest.mark.heavy

TOPIC = "schema-changes"
NOTHING = Schema.from_cql("")
FOLDERS = (
    *("3.11/mixed", "4.0/types", "4.1/collections", "5.0/types", "5.0/views"),
    *("5.0/three-nodes/node1", "6.0/epochs"),
)
NAME = SegmentName(1, 7)


@dataclass(frozen=True)
class Arrival:
    """A message of the sink."""

    topic: str
    id: bytes
    value: dict[str, Any]

    @property
    def is_schema(self) -> bool:
        return self.topic == TOPIC

    @property
    def table(self) -> str:
        source = self.value["source"]
        return f"{source['keyspace']}.{source['table']}"

    @property
    def columns(self) -> set[str]:
        """Columns of the schema change, or columns that the event wrote."""
        if not self.is_schema:
            return {name for name, value in self.value["after"].items() if value is not None}
        table = self.value["tableChanges"][0]["table"] or {"columns": []}
        return {column["name"] for column in table["columns"]}


def arrivals(harness: PipelineHarness) -> list[Arrival]:
    return [
        Arrival(topic, dict(headers)["cdc.id"], orjson.loads(value or b"null"))
        for _, (topic, _, value, headers, _) in harness.sink.messages
        if value is not None
    ]


def schema_changes(harness: PipelineHarness) -> list[Arrival]:
    return [each for each in arrivals(harness) if each.is_schema]


def recorded(make_harness: MakeHarness, folder: Path, **settings: Any) -> PipelineHarness:
    """Run over the segments of a recording; the node reports its schema only after the start."""
    options = {"window_max_events": 20_000, "schema_topic": (FORMAT, TOPIC), **settings}
    harness = over_segments(make_harness, NOTHING, **options)
    harness.settle()
    harness.schema.schema = Schema.from_cql((folder / "schema.cql").read_text(encoding="utf-8"))
    for path in folder.glob("CommitLog-*.gz"):
        name = path.name.removesuffix(".gz")
        (harness.raw.directory / name).write_bytes(gzip.decompress(path.read_bytes()))
    for path in folder.glob("*_cdc.idx"):
        (harness.raw.directory / path.name).write_bytes(path.read_bytes())
    return harness


@pytest.mark.parametrize("folder", FOLDERS)
def test_table_definition_precedes_its_events(make_harness: MakeHarness, folder: str) -> None:
    harness = recorded(make_harness, OWN / folder)
    harness.settle(2000)
    announced: dict[str, set[str]] = {}
    ids = []
    for arrival in arrivals(harness):
        if arrival.is_schema:
            announced[arrival.table] = arrival.columns
            ids.append(arrival.id)
        else:
            assert arrival.columns - {"_range_start", "_range_end"} <= announced[arrival.table]
    assert announced
    assert len(ids) == len(set(ids))


def test_schema_change_id_is_equal_on_three_nodes(make_harness: MakeHarness) -> None:
    found = []
    for node in ("node1", "node2", "node3"):
        harness = recorded(make_harness, OWN / "5.0" / "three-nodes" / node)
        harness.settle(2000)
        found.append([(each.id, each.value["ddl"]) for each in schema_changes(harness)])
        harness.end()
    assert found[0]
    assert found[0] == found[1] == found[2]


def test_cassandra_6_0_schema_changes_contain_epoch_and_statement(
    make_harness: MakeHarness,
) -> None:
    harness = recorded(make_harness, OWN / "6.0" / "epochs")
    harness.settle(2000)
    sources = [each.value["source"] for each in schema_changes(harness)]
    epochs = [source["epoch"] for source in sources]
    assert None not in epochs
    assert epochs == sorted(epochs)
    with gzip.open(OWN / "6.0" / "epochs" / "statements.cql.gz", "rt") as lines:
        statements = lines.read()
    altered = [each.value["ddl"] for each in schema_changes(harness)]
    altered = [ddl for ddl in altered if not ddl.startswith("CREATE TABLE")]
    assert altered
    assert [ddl for ddl in altered if ddl.rstrip(";") not in statements] == []


@pytest.mark.parametrize(
    "acknowledged",
    [0, 21, 56, *(pytest.param(n, marks=pytest.mark.slow) for n in (7, 14, 28, 35, 42, 49))],
)
def test_messages_repeated_after_kill_retain_their_ids(
    make_harness: MakeHarness, acknowledged: int
) -> None:
    folder = OWN / "5.0" / "types"
    whole = recorded(make_harness, folder)
    whole.settle(2000)
    expected = [each.id for each in arrivals(whole)]

    harness = recorded(make_harness, folder, sink=MemorySink(automatic=False))
    harness.settle(2000)
    harness.sink.acknowledge(harness.sink.waiting[:acknowledged])
    harness.settle(2000)
    before = [each.id for each in arrivals(harness)][:acknowledged]
    harness.kill(MemorySink())
    harness.settle(2000)
    after = [each.id for each in arrivals(harness)]
    assert set(before) | set(after) == set(expected)
    assert after == expected[len(expected) - len(after) :]


def test_table_created_outside_the_log_is_announced(make_harness: MakeHarness) -> None:
    harness = make_harness(
        open_reader=open_with(FORMAT), schema=NOTHING, schema_topic=(FORMAT, TOPIC)
    )
    harness.settle()
    harness.schema.schema = Schema.from_cql(SCHEMA)
    put(harness.raw.directory, NAME, segment([[payload(1), payload(2)]]))
    put(harness.raw.directory, SegmentName(2, 7), segment([], segment_id=2))
    harness.settle()
    first, *events = arrivals(harness)
    assert first.is_schema
    assert first.value["tableChanges"][0]["type"] == "CREATE"
    assert first.value["ddl"].startswith("CREATE TABLE ks.t (k text, c int, v text, PRIMARY KEY")
    assert [each.table for each in events] == ["ks.t", "ks.t"]


def test_all_tables_are_announced_once(make_harness: MakeHarness) -> None:
    harness = make_harness(
        open_reader=open_with(FORMAT), schema=Schema.from_cql(SCHEMA), schema_topic=(FORMAT, TOPIC)
    )
    harness.settle()
    (first,) = arrivals(harness)
    assert first.value["source"]["snapshot"] == "true"
    assert first.value["tableChanges"][0]["table"]["primaryKeyColumnNames"] == ["k", "c"]
    harness.kill(MemorySink())
    harness.settle()
    assert arrivals(harness) == []


def test_offsets_wait_until_the_announcements_are_stored(make_harness: MakeHarness) -> None:
    harness = recorded(make_harness, OWN / "5.0" / "types")
    harness.announcements.file.path = harness.raw.directory / "none" / "file"
    harness.settle(2000)
    assert schema_changes(harness)
    assert not any(name.startswith("CommitLog") for name in harness.store.values)


def test_transform_receives_no_schema_changes(make_harness: MakeHarness) -> None:
    harness = make_harness(
        open_reader=open_with(FORMAT), schema=Schema.from_cql(SCHEMA), schema_topic=(FORMAT, TOPIC)
    )
    seen: list[str] = []

    def note(event: Event) -> Event:
        seen.append(event.topic)
        return event

    harness.settings = replace(harness.settings, transform=note)
    harness.end()
    harness.start()
    put(harness.raw.directory, NAME, segment([[payload(1)]]))
    put(harness.raw.directory, SegmentName(2, 7), segment([], segment_id=2))
    harness.settle()
    assert [each.topic for each in arrivals(harness)] == [TOPIC, "demo.ks.t"]
    assert set(seen) == {"demo.ks.t"}
