"""A real node, an agent, and a registry with real checks (`make registry`: a real registry)."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import fastavro
import pytest

from tests.support.agents.agent_command import agent as command
from tests.support.avro.live import AvroAgent, Decoded, LiveRegistry
from tests.support.avro.reading import differences
from tests.support.node.snapshot_agent import Agent
from tests.support.servers.apicurio import ApicurioRegistry
from tests.support.servers.cassandra import CassandraNode
from tests.support.sinks.checking_registry import CheckingRegistry
from tests.support.workloads.scenario import create_keyspace

pytestmark = pytest.mark.servers
ROWS = 100
UNAVAILABLE = "the schema registry is unavailable"
HOLD_MAX_MS = 3000


def subject(table: str) -> str:
    return f"x.{table}-value"


def reason(agent: Agent) -> str:
    """Message of `/health` about the registry."""
    return json.dumps(agent.process.ask("/health") or {})


def assert_read_alike(event: Decoded, written: str, latest: str) -> None:
    """The latest schema reads the values as written."""
    writer, reader = (fastavro.parse_schema(json.loads(each)) for each in (written, latest))
    found = fastavro.schemaless_reader(io.BytesIO(event.bytes), writer, reader)
    assert isinstance(found, dict)
    for name in ("id", "price", "b"):
        column = found["after"].get(name)
        value = column and column["value"]
        known = event.column(name)
        # Fields that were added to a user type later are null.
        assert value == (value | known if isinstance(known, dict) else known)
    assert found["cells"] == event.value["cells"]


@pytest.fixture
def node(shared_node: CassandraNode) -> CassandraNode:
    """The shared node, with a keyspace."""
    shared_node.execute(create_keyspace("shop"))
    return shared_node


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRegistry]:
    """The stand-in, or a real registry for `make registry`."""
    with _started(tmp_path_factory.mktemp("registry")) as registry:
        yield registry


def _started(folder: Path) -> CheckingRegistry | ApicurioRegistry:
    is_real = os.environ.get("CDC_TEST_REGISTRY") == "apicurio"
    return ApicurioRegistry(folder) if is_real else CheckingRegistry()


@pytest.fixture
def agent(
    node: CassandraNode, linked_cdc_raw: Path, registry: LiveRegistry, tmp_path: Path
) -> Iterator[AvroAgent]:
    agent = AvroAgent(
        node,
        registry,
        tmp_path / "agent",
        cdc_raw_directory=linked_cdc_raw,
        snapshot_mode="never",
        segment_blocked_timeout_ms=HOLD_MAX_MS,
    )
    agent.process.launch()
    yield agent
    agent.process.end()


def test_registry_accepts_every_version_of_altered_table(
    node: CassandraNode, registry: LiveRegistry, agent: AvroAgent
) -> None:
    """Each version is readable with its own schema and with the latest."""
    table = "shop.orders"
    node.execute("CREATE TYPE shop.place (street text, number int)")
    node.execute(
        f"CREATE TABLE {table} (id int PRIMARY KEY, note text, price decimal) WITH cdc=true"
    )
    node.execute(f"INSERT INTO {table} (id, note, price) VALUES (1, 'one', 1.5)")
    agent.wait_for_events(table, 1)
    node.execute(f"ALTER TABLE {table} ADD tags set<text>")
    node.execute(f"INSERT INTO {table} (id, note, tags) VALUES (2, 'two', {{'a', 'b'}})")
    agent.wait_for_events(table, 2)
    node.execute(f"ALTER TABLE {table} DROP note")
    node.execute(f"INSERT INTO {table} (id, price) VALUES (3, 3.25)")
    agent.wait_for_events(table, 3)
    node.execute(f"ALTER TABLE {table} ADD at frozen<shop.place>")
    node.execute(f"INSERT INTO {table} (id, at) VALUES (4, {{street: 's', number: 7}})")
    agent.wait_for_events(table, 4)
    node.execute("ALTER TYPE shop.place ADD floor int")
    node.execute(f"INSERT INTO {table} (id, at) VALUES (5, {{street: 't', number: 8, floor: 9}})")
    events = agent.wait_for_events(table, 5)

    assert [each.column("id") for each in events] == [1, 2, 3, 4, 5]
    assert [each.column("note") for each in events] == ["one", "two", None, None, None]
    assert [each.column("price") for each in events] == [1.5, None, 3.25, None, None]
    assert sorted(events[1].column("tags")) == ["a", "b"]
    assert events[3].column("at")["number"] == 7
    assert events[4].column("at") == {"street": "t", "number": 8, "floor": 9}

    versions = registry.versions(subject(table))
    assert versions == list(dict.fromkeys(each.schema_id for each in events))
    assert len(versions) >= 4
    for event in events:
        assert_read_alike(event, registry.schema(event.schema_id), registry.schema(versions[-1]))


@pytest.mark.slow
def test_registry_accepts_columns_of_a_growing_type(
    node: CassandraNode, registry: LiveRegistry, agent: AvroAgent
) -> None:
    """After a drop the node reports another type of the column than before."""
    table, changes = "shop.houses", iter(range(2, 100))
    node.execute("CREATE TYPE shop.room (wide int)")
    node.execute(
        f"CREATE TABLE {table} (id int PRIMARY KEY, a frozen<shop.room>, b frozen<shop.room>, "
        "c shop.room, d map<text, frozen<shop.room>>) WITH cdc = true"
    )

    def insert(columns: str = "", values: str = "") -> list[Decoded]:
        number = next(changes)
        node.execute(f"INSERT INTO {table} (id{columns}) VALUES ({number}{values})")
        agent.process.wait_until(
            lambda: any(each.column("id") == number for each in agent.decoded(table)),
            f"event {number}, or a reason: {reason(agent)}",
        )
        return agent.decoded(table)

    insert(", a, b, c, d", ", {wide: 1}, {wide: 2}, {wide: 3}, {'k': {wide: 4}}")
    node.execute(f"ALTER TABLE {table} DROP a")
    insert(", b", ", {wide: 5}")
    node.execute("ALTER TYPE shop.room ADD high int")
    insert(", b, c", ", {wide: 6, high: 7}, {wide: 8}")
    node.execute(f"ALTER TABLE {table} ADD e frozen<list<frozen<shop.room>>>")
    insert(", b, e", ", {wide: 9, high: 10}, [{wide: 11, high: 12}]")
    node.execute(f"ALTER TABLE {table} DROP d")
    agent.process.kill()
    agent.process.launch()
    node.execute("ALTER TYPE shop.room ADD deep int")
    events = insert(", b", ", {wide: 13, high: 14, deep: 15}")
    assert {each.column("id") for each in events} == set(range(2, 7))
    (last,) = {json.dumps(each.column("b")) for each in events if each.column("id") == 6}
    assert json.loads(last) == {"wide": 13, "high": 14, "deep": 15}
    latest = registry.schema(registry.versions(subject(table))[-1])
    for event in events:
        assert_read_alike(event, registry.schema(event.schema_id), latest)


@pytest.mark.slow
def test_recreated_table_is_quarantined_until_its_schema_is_allowed(
    node: CassandraNode, registry: LiveRegistry, agent: AvroAgent
) -> None:
    """The registry rejects the other type, and the agent quarantines the segment. After a change of
    the subject's compatibility the running agent reads the segment again."""
    table = "shop.parts"
    node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int) WITH cdc = true")
    node.execute(f"INSERT INTO {table} (id, v) VALUES (1, 7)")
    agent.wait_for_events(table, 1)
    node.execute(f"DROP TABLE {table}")
    node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text) WITH cdc = true")
    node.execute(f"INSERT INTO {table} (id, v) VALUES (2, 'seven')")
    refusal = f"rejects the schema of {subject(table)}: {registry.url} answers 409"
    agent.process.wait_until(lambda: refusal in reason(agent), "the refusal")

    node.execute("CREATE TABLE shop.beside (id int PRIMARY KEY) WITH cdc = true")
    node.execute("INSERT INTO shop.beside (id) VALUES (1)")
    agent.wait_for_events("shop.beside", 1)
    node.close_segment()
    error = agent.directory / "relocation" / "error"
    agent.process.wait_until(lambda: bool(list(error.glob("*.log"))), "the quarantine")
    assert len(agent.decoded(table)) == 1
    assert len(registry.versions(subject(table))) == 1

    registry.allow_any(subject(table))
    done = command("quarantine", "retry", "--all", "--config", agent.process.configuration)
    assert done.exit_code == 0, done.errors

    def is_read_again() -> bool:
        return any(each.column("v") == "seven" for each in agent.decoded(table))

    agent.process.wait_until(is_read_again, "the events that were given up")
    assert len(registry.versions(subject(table))) == 2
    assert {each.column("v") for each in agent.decoded(table)} == {7, "seven"}


@pytest.mark.slow
def test_registry_outage_loses_no_events(
    node: CassandraNode, registry: LiveRegistry, agent: AvroAgent
) -> None:
    """Events of known tables continue, those of unknown tables wait. A restarted agent gets the
    same ids."""
    node.execute("CREATE TABLE shop.known (id int PRIMARY KEY) WITH cdc = true")
    node.execute("INSERT INTO shop.known (id) VALUES (1)")
    (before,) = agent.wait_for_events("shop.known", 1)
    with registry.outage():
        node.execute("INSERT INTO shop.known (id) VALUES (2)")
        agent.process.wait_until(
            lambda: agent.out.read_text().count("x.shop.known") == 2, "a known table"
        )
        node.execute("CREATE TABLE shop.unknown (id int PRIMARY KEY) WITH cdc = true")
        node.execute("INSERT INTO shop.unknown (id) VALUES (1)")
        agent.process.wait_until(lambda: UNAVAILABLE in reason(agent), "the wait")
        agent.process.kill()
        node.execute("INSERT INTO shop.known (id) VALUES (3)")
        agent.process.launch()
        agent.process.wait_until(lambda: UNAVAILABLE in reason(agent), "the wait again")
    agent.wait_for_events("shop.unknown", 1)
    after = agent.wait_for_events("shop.known", 3)
    assert {each.column("id") for each in after} == {1, 2, 3}
    assert {each.schema_id for each in after} == {before.schema_id}


def test_snapshot_rows_are_equal_in_avro_and_json(
    node: CassandraNode, linked_cdc_raw: Path, registry: LiveRegistry, tmp_path: Path
) -> None:
    """The registry is unavailable at the start, and the snapshot waits before the first row. A
    second outage in the middle does not matter."""
    table = "shop.stock"
    node.execute("CREATE TYPE IF NOT EXISTS shop.size (wide int, high int)")
    node.execute(
        f"CREATE TABLE {table} (id int, line int, total int static, name text, price decimal, "
        "big varint, day date, at timestamp, who uuid, tags set<text>, parts map<text, int>, "
        "list list<int>, size shop.size, pair frozen<tuple<int, text>>, raw blob, "
        "PRIMARY KEY (id, line)) WITH cdc = true"
    )
    for number in range(ROWS):
        node.execute(
            f"INSERT INTO {table} (id, line, total, name, price, big, day, at, who, tags, parts, "
            f"list, size, pair, raw) VALUES ({number % 20}, {number}, {number}, 'n{number}', "
            f"{number}.25, {number}000000000, '2026-01-01', {number}, "
            f"00000000-0000-0000-0000-{number:012}, {{'a', 'b{number}'}}, {{'k': {number}}}, "
            f"[{number}, 1], {{wide: {number}}}, ({number}, 'p'), 0x{number:04x})"
        )
    copies = {"cdc_raw_directory": linked_cdc_raw, "snapshot_mode": "initial"}
    in_avro = AvroAgent(node, registry, tmp_path / "avro", **copies, snapshot_rows_per_second=200)
    try:
        with registry.outage():
            in_avro.process.launch()
            in_avro.process.wait_until(
                lambda: UNAVAILABLE in str(in_avro.process.ask("/snapshot")), "the copy to wait"
            )
            assert in_avro.copy_of(table)["rows"] == 0
            assert f"x.{table}" not in (in_avro.out.read_text() if in_avro.out.exists() else "")
        in_avro.process.wait_until(lambda: in_avro.copy_of(table)["percent"] > 0, "a part of it")
        with registry.outage():
            in_avro.wait_for(table, "completed")
    finally:
        in_avro.process.end()
    in_json = Agent(node, tmp_path / "json", **copies)
    try:
        in_json.process.launch()
        in_json.wait_for(table, "completed")
    finally:
        in_json.process.end()
    expected = {
        json.dumps(each["key"]): each["value"]
        for each in in_json.events(is_snapshot=True)
        if each["topic"] == f"x.{table}"
    }
    found = {
        json.dumps(each.key): each.value for each in in_avro.decoded(table) if each.is_snapshot
    }
    assert len(found) >= ROWS
    assert found.keys() == expected.keys()
    for key, value in found.items():
        plain = expected[key]
        # The deletion time of a collection is the time of the read.
        for cells in (value["cells"], plain["cells"]):
            for deletion in cells.get("cdel") or ():
                del deletion["ldt"]
        for part in ("op", "after", "cells"):
            assert list(differences({part: value[part]}, {part: plain[part]})) == [], key
