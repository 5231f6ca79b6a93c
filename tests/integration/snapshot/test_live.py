"""Snapshots of a real node's tables by a real agent during writes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from agent.config.capture import Consistency
from agent.node.connection import NodeAddress
from agent.snapshot.connection import PageConnection
from agent.snapshot.errors import ReplicasMissingError
from tests.integration.snapshot import outage
from tests.integration.snapshot.while_written import TYPES, copy_while_writes_go_on
from tests.support.node.snapshot_agent import Agent, keys
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until
from tests.support.workloads.scenario import create_keyspace

pytestmark = pytest.mark.servers

ROWS = 400

NewAgent = Callable[..., Agent]


@pytest.fixture
def node(shared_node: CassandraNode) -> CassandraNode:
    shared_node.execute(create_keyspace("shop"))
    return shared_node


@pytest.fixture
def new_agent(
    shared_node: CassandraNode, linked_cdc_raw: Path, tmp_path: Path
) -> Iterator[NewAgent]:
    """Agent of the node, not started yet."""
    agents: list[Agent] = []

    def made(**properties: object) -> Agent:
        folder = tmp_path / f"agent-{len(agents)}"
        agents.append(
            Agent(shared_node, folder, **{"cdc_raw_directory": linked_cdc_raw, **properties})
        )
        return agents[-1]

    yield made
    for each in agents:
        each.process.end()


def create(node: CassandraNode, table: str, rows: int = ROWS) -> None:
    node.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, name text) WITH cdc = true")
    for number in range(rows):
        node.execute(f"INSERT INTO {table} (id, name) VALUES ({number}, 'n')")


def wait_until_begun(agent: Agent, table: str) -> None:
    agent.process.wait_until(lambda: agent.copy_of(table).get("rows", 0) > 0, "the first rows")


def waiting(agent: Agent) -> str:
    """Reason why the snapshot waits."""
    return str((agent.process.ask("/snapshot") or {}).get("waiting", ""))


@pytest.mark.parametrize("writes", [800, pytest.param(3000, marks=pytest.mark.slow)])
def test_snapshot_during_writes_equals_the_table(
    node: CassandraNode, new_agent: NewAgent, writes: int
) -> None:
    """The agent is killed in the middle; merging the events in any order yields the table."""
    seed = draw_seed()
    node.execute(TYPES.format(keyspace="shop"))
    merged = copy_while_writes_go_on(
        node, new_agent(snapshot_mode="ALWAYS"), "shop.orders", seed, writes
    )
    print(merged)
    # The agent does not copy rows again that were acknowledged before the kill.
    assert merged.copied < merged.copied_before_kill + merged.copied_keys * 0.95
    assert merged.differences == []


def test_requested_snapshots_follow_table_changes(node: CassandraNode, new_agent: NewAgent) -> None:
    """Without `snapshot.mode`; `agent snapshot start|stop|status`, and tables that are dropped,
    created again, or excluded from CDC."""
    create(node, "shop.people")
    create(node, "shop.nobody", 0)
    node.execute("CREATE TABLE shop.hits (id int PRIMARY KEY, n counter) WITH cdc = true")
    node.execute("CREATE TABLE shop.silent (id int PRIMARY KEY)")
    agent = new_agent()
    agent.process.launch()
    assert agent.wait_for("shop.people", "completed")["rows"] == ROWS
    assert agent.wait_for("shop.nobody", "completed")["rows"] == 0
    assert len(keys(agent.events(is_snapshot=True), "shop.people")) == ROWS
    assert (agent.process.ask("/snapshot") or {})["counter_tables"] == 1
    assert b"cdc_snapshot_rows_total" in agent.process.get("/metrics")

    code, said = agent.snapshot("start", "shop.nothing")
    assert (code, said.count("shop.nothing: no such table")) == (1, 1)
    assert "not published" in agent.post("start", "shop.silent")
    assert "counter tables" in agent.post("start", "shop.hits")
    assert "shop.people: no snapshot is running" in agent.post("stop", "shop.people")
    code, said = agent.snapshot("start", "shop.people")
    assert (code, said) == (0, "Started the snapshot of shop.people.\n")
    agent.process.wait_until(
        lambda: len(keys(agent.events(is_snapshot=True), "shop.people")) == 2 * ROWS,
        "the second copy",
    )
    code, said = agent.snapshot("status", "--follow", "shop.people")
    assert (code, "shop.people completed: 400 rows, 100.0%" in said) == (0, True)

    # After a restart the agent copies only new or newly published tables.
    node.execute("DROP TABLE shop.people")
    node.execute("CREATE TABLE shop.people (id int PRIMARY KEY, name text) WITH cdc = true")
    node.execute("INSERT INTO shop.people (id, name) VALUES (1, 'new')")
    agent.process.wait_until(
        lambda: not agent.copy_of("shop.people"), "the dropped table to be forgotten"
    )
    agent.process.stop()
    agent.process.launch("snapshot.mode=always")
    assert agent.wait_for("shop.people", "completed")["rows"] == 1
    node.execute("ALTER TABLE shop.people WITH cdc = false")
    agent.process.wait_until(lambda: not agent.copy_of("shop.people"), "the copy to be forgotten")
    node.execute("INSERT INTO shop.people (id, name) VALUES (2, 'unseen')")
    node.execute("ALTER TABLE shop.people WITH cdc = true")
    assert agent.wait_for("shop.people", "completed")["rows"] == 2
    agent.process.stop()


@pytest.mark.slow
def test_snapshot_survives_a_node_kill(new_agent: NewAgent, tmp_path: Path) -> None:
    """The snapshot waits for the node, resumes at its position, and can be stopped. The test starts
    its own node, because it kills the node."""
    table = "shop.goods"
    with CassandraNode(tmp_path / "node") as node:
        node.execute(create_keyspace("shop"))
        create(node, table)
        agent = new_agent(
            cassandra_config=node.yaml,
            cdc_raw_directory=node.cdc_raw,
            snapshot_mode="initial",
            snapshot_rows_per_second=20,
        )
        agent.process.launch()
        wait_until_begun(agent, table)
        node.kill()
        agent.process.wait_until(lambda: bool(waiting(agent)), "it waits")
        node.start()
        code, said = agent.snapshot("stop", table)
        assert (code, "Stopped the snapshot of shop.goods" in said) == (0, True)
        # The agent stores the stop in the next tick of its pipeline.
        wait_until(lambda: agent.has_stored("stopped"), "the saved stop")
        agent.process.kill()
        agent.process.launch("snapshot.rows.per.second=0")
        assert agent.wait_for(table, "stopped")["percent"] < 100
        wait_until(lambda: "Started" in agent.post("start", table), "the node")
        agent.wait_for(table, "completed")
        assert len(set(keys(agent.events(is_snapshot=True), table))) == ROWS
        agent.process.stop()


def test_snapshot_waits_for_a_missing_replica(
    shared_node: CassandraNode, new_agent: NewAgent
) -> None:
    """One of two replicas does not exist: the agent reports it with a remedy."""
    shared_node.execute(create_keyspace("pair", 2))
    shared_node.execute("CREATE TABLE pair.t (id int PRIMARY KEY) WITH cdc = true")
    shared_node.execute("INSERT INTO pair.t (id) VALUES (1)")
    agent = new_agent(snapshot_mode="initial")
    agent.process.launch()
    agent.process.wait_until(lambda: "snapshot.consistency=ALL" in waiting(agent), "why")
    assert "1 of 2 replicas are up" in waiting(agent)
    health = agent.process.ask("/health") or {}
    assert health["components"]["snapshot"]["status"] == "degraded"
    agent.process.stop()
    agent.process.launch("snapshot.consistency=ONE")
    agent.wait_for("pair.t", "completed")
    assert keys(agent.events(is_snapshot=True), "pair.t") == ['{"id": 1}']
    agent.process.stop()


@pytest.mark.slow
def test_snapshot_survives_broker_and_agent_kills(
    node: CassandraNode, new_agent: NewAgent, tmp_path: Path
) -> None:
    """No row is lost, streaming continues during the snapshot, and only rows in flight are
    repeated. The test starts its own broker, because it kills the broker."""
    with KafkaBroker(tmp_path / "kafka") as broker:
        agent = new_agent(
            sink="kafka",
            kafka_producer_bootstrap_servers=broker.bootstrap,
            inflight_max_events=outage.WINDOW_EVENTS,
            snapshot_rows_per_second=outage.ROWS_PER_SECOND,
        )
        copied = outage.copy_through_outages(node, broker, agent)
    for counts in (copied.outage, copied.kill):
        assert counts.keys() >= set(range(outage.ROWS))
        repeats = counts.total() - len(counts)
        print(counts.total(), "copied,", repeats, "of them again")
        assert repeats <= outage.WINDOW_EVENTS


@pytest.mark.slow
def test_snapshot_follows_table_changes_and_drops(node: CassandraNode, new_agent: NewAgent) -> None:
    """The agent builds a new statement; it forgets a dropped table without an error."""
    table = "shop.shelves"
    create(node, table)
    agent = new_agent(snapshot_mode="always", snapshot_rows_per_second=60)
    agent.process.launch()
    wait_until_begun(agent, table)
    node.execute(f"ALTER TABLE {table} DROP name")
    node.execute(f"ALTER TABLE {table} ADD place text")
    agent.wait_for(table, "completed")
    copied = agent.events(is_snapshot=True)
    assert len(set(keys(copied, table))) == ROWS
    assert "place" in copied[-1]["value"]["after"]

    assert "Started" in agent.post("start", table)
    wait_until_begun(agent, table)
    node.execute(f"DROP TABLE {table}")
    agent.process.wait_until(lambda: not agent.copy_of(table), "it to be forgotten")
    health = agent.process.ask("/health") or {}
    assert health["components"]["snapshot"]["status"] == "ok"
    # The agent may copy the new table before a row is written.
    create(node, table, 0)
    agent.wait_for(table, "completed")
    node.execute(f"INSERT INTO {table} (id, name) VALUES (0, 'n')")
    assert "Started" in agent.post("start", table)
    wait_until_begun(agent, table)
    assert agent.wait_for(table, "completed")["rows"] == 1
    agent.process.stop()


def test_consistency_level_requires_its_number_of_replicas(node: CassandraNode) -> None:
    """The table has one replica."""
    create(node, "shop.levels", 1)
    address = NodeAddress([node.address.host], node.address.cql_port)
    connection = PageConnection(address, lambda keyspace, table: True)
    try:
        for level in get_args(Consistency):
            asked = connection.ask("SELECT id FROM shop.levels", level, 10, None)
            if level in ("TWO", "THREE"):
                with pytest.raises(ReplicasMissingError, match="1 of"):
                    asked.result()
            else:
                assert asked.result().body[:4] == b"\0\0\0\1", level
    finally:
        connection.close()
