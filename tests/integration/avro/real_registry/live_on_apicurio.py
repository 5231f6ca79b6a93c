"""A real node, an agent and a real registry: tables that change, a schema that is refused, and a
registry that is killed in the middle; `make registry`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents.agent_command import agent as command
from tests.support.avro.live import AvroAgent
from tests.support.avro.nodes import HOLD_MAX_MS, assert_read_alike, reason, subject
from tests.support.node.snapshot_agent import DEADLINE_S
from tests.support.servers.apicurio import ApicurioRegistry
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    settings = NodeSettings(commitlog_sync_period_ms=200)
    with CassandraNode(tmp_path_factory.mktemp("avro") / "node", settings=settings) as node:
        node.execute(
            "CREATE KEYSPACE shop WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        yield node


@pytest.fixture
def agent(node: CassandraNode, registry: ApicurioRegistry, tmp_path: Path) -> Iterator[AvroAgent]:
    agent = AvroAgent(
        node,
        registry,
        tmp_path / "agent",
        snapshot_mode="never",
        segment_blocked_timeout_ms=HOLD_MAX_MS,
    )
    agent.process.launch()
    yield agent
    agent.process.end()


def test_a_table_that_is_altered_passes_backward(
    node: CassandraNode, registry: ApicurioRegistry, agent: AvroAgent
) -> None:
    """Every version is taken, and every event read by its own schema and by the latest."""
    table = "shop.orders"
    node.execute("CREATE TYPE shop.place (street text, number int)")
    node.execute(
        f"CREATE TABLE {table} (id int PRIMARY KEY, note text, price decimal) WITH cdc=true"
    )
    for number, (change, columns, values) in enumerate(
        (
            ("", ", note, price", ", 'one', 1.5"),
            (f"ALTER TABLE {table} ADD tags set<text>", ", note, tags", ", 'two', {'a', 'b'}"),
            (f"ALTER TABLE {table} DROP note", ", price", ", 3.25"),
            (f"ALTER TABLE {table} ADD at frozen<place>", ", at", ", {street: 's', number: 7}"),
            ("ALTER TYPE shop.place ADD floor int", ", at", ", {street: 't', floor: 9}"),
        ),
        start=1,
    ):
        if change:
            node.execute(change.replace("<place>", "<shop.place>"))
        node.execute(f"INSERT INTO {table} (id{columns}) VALUES ({number}{values})")
        agent.wait_for_events(table, number)
    events = agent.decoded(table)
    assert [each.column("id") for each in events] == [1, 2, 3, 4, 5]
    assert [each.column("note") for each in events] == ["one", "two", None, None, None]
    assert [each.column("price") for each in events] == [1.5, None, 3.25, None, None]
    assert sorted(events[1].column("tags")) == ["a", "b"]
    assert events[4].column("at") == {"street": "t", "number": None, "floor": 9}
    versions = registry.versions(subject(table))
    assert versions == list(dict.fromkeys(each.schema_id for each in events))
    assert len(versions) >= 4
    for event in events:
        latest = registry.schema(versions[-1])
        assert_read_alike(event, registry.schema(event.schema_id), latest)


def test_a_rejected_table_made_anew_is_abandoned(
    node: CassandraNode, registry: ApicurioRegistry, agent: AvroAgent
) -> None:
    """Its records wait, then their segment goes to the quarantine, and other tables go on. An
    operator allows the schema, and the running agent reads all of it."""
    table = "shop.parts"
    node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int) WITH cdc = true")
    node.execute(f"INSERT INTO {table} (id, v) VALUES (1, 7)")
    agent.wait_for_events(table, 1)
    node.execute(f"DROP TABLE {table}")
    node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text) WITH cdc = true")
    node.execute(f"INSERT INTO {table} (id, v) VALUES (2, 'seven')")
    refusal = f"rejects the schema of {subject(table)}: {registry.url} answers 409"
    agent.process.wait_until(lambda: refusal in reason(agent), "the refusal", DEADLINE_S)

    node.execute("CREATE TABLE shop.beside (id int PRIMARY KEY) WITH cdc = true")
    node.execute("INSERT INTO shop.beside (id) VALUES (1)")
    agent.wait_for_events("shop.beside", 1)
    node.close_segment()
    error = agent.directory / "relocation" / "error"
    agent.process.wait_until(lambda: bool(list(error.glob("*.log"))), "the quarantine", DEADLINE_S)
    assert len(agent.decoded(table)) == 1
    assert len(registry.versions(subject(table))) == 1

    registry.set_compatibility("NONE", subject(table))
    done = command("quarantine", "retry", "--all", "--config", agent.process.configuration)
    assert done.exit_code == 0, done.errors

    def is_read_again() -> bool:
        return any(each.column("v") == "seven" for each in agent.decoded(table))

    agent.process.wait_until(is_read_again, "the events that were given up", DEADLINE_S)
    assert len(registry.versions(subject(table))) == 2
    assert {each.column("v") for each in agent.decoded(table)} == {7, "seven"}


def test_a_registry_that_is_killed_loses_nothing(
    node: CassandraNode, registry: ApicurioRegistry, agent: AvroAgent
) -> None:
    """Known tables go on without it, unknown ones wait. Over the same file it has the same ids, for
    the same agent and for a new one."""
    known = "shop.known"
    node.execute(f"CREATE TABLE {known} (id int PRIMARY KEY) WITH cdc = true")
    node.execute(f"INSERT INTO {known} (id) VALUES (1)")
    (before,) = agent.wait_for_events(known, 1)
    registry.kill()
    try:
        node.execute(f"INSERT INTO {known} (id) VALUES (2)")
        agent.process.wait_until(
            lambda: agent.out.read_text().count(f"x.{known}") == 2, "a known table", DEADLINE_S
        )
        node.execute("CREATE TABLE shop.unknown (id int PRIMARY KEY) WITH cdc = true")
        node.execute("INSERT INTO shop.unknown (id) VALUES (1)")
        agent.process.wait_until(
            lambda: "the schema registry is unavailable" in reason(agent), "the wait", DEADLINE_S
        )
    finally:
        registry.start()
    agent.wait_for_events("shop.unknown", 1)
    agent.process.kill()
    node.execute(f"INSERT INTO {known} (id) VALUES (3)")
    agent.process.launch()
    after = agent.wait_for_events(known, 3)
    assert {each.column("id") for each in after} == {1, 2, 3}
    assert {each.schema_id for each in after} == {before.schema_id}
    assert registry.versions(subject(known)) == [before.schema_id]
