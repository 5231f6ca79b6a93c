"""Copies of a real node's tables by a real agent, while writes go on."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from agent.config.snapshot import Consistency
from agent.node.connection import NodeAddress
from agent.snapshot.connection import PageConnection
from agent.snapshot.errors import ReplicasMissingError
from tests.integration.snapshot import outage
from tests.integration.snapshot.while_written import copy_while_writes_go_on
from tests.integration.snapshot.writes import TYPES
from tests.support.node.snapshot_agent import DEADLINE_S, Agent, keys
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

ROWS = 400


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    settings = NodeSettings(
        commitlog_sync_period_ms=200,
        jvm_options=["-Dcassandra.enable_nodelocal_queries=true"],
    )
    with CassandraNode(tmp_path_factory.mktemp("snapshot") / "node", settings=settings) as node:
        node.execute(
            "CREATE KEYSPACE shop WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        node.execute(TYPES.format(keyspace="shop"))
        yield node


@pytest.fixture
def stopping() -> Iterator[list[Agent]]:
    agents: list[Agent] = []
    yield agents
    for each in agents:
        each.process.end()


def test_a_table_that_is_published_later_is_copied_while_writes_go_on(
    node: CassandraNode, tmp_path: Path, stopping: list[Agent]
) -> None:
    """The agent is killed in the middle, and the server starts again; merging what arrived, in any
    order, gives the table."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    agent = Agent(node, tmp_path, snapshot_mode="ALWAYS")
    stopping.append(agent)
    merged = copy_while_writes_go_on(node, agent, "shop.orders", seed)
    print(merged)
    # What was acknowledged before the kill is not copied again.
    assert merged.copied < merged.copied_before_kill + merged.copied_keys * 0.95
    assert merged.differences == []


def test_requested_types(node: CassandraNode, tmp_path: Path, stopping: list[Agent]) -> None:
    """Without `snapshot.mode`; `agent snapshot start|stop|status`, tables that are dropped, made
    again, switched off."""
    node.execute("CREATE TABLE shop.people (id int PRIMARY KEY, name text) WITH cdc = true")
    node.execute("CREATE TABLE shop.hits (id int PRIMARY KEY, n counter) WITH cdc = true")
    node.execute("CREATE TABLE shop.silent (id int PRIMARY KEY)")
    for number in range(ROWS):
        node.execute(f"INSERT INTO shop.people (id, name) VALUES ({number}, 'n')")
    node.execute("CREATE TABLE shop.nobody (id int PRIMARY KEY) WITH cdc = true")
    agent = Agent(node, tmp_path)
    stopping.append(agent)
    agent.process.launch()
    assert agent.wait_for("shop.people", "completed")["rows"] == ROWS
    assert agent.wait_for("shop.nobody", "completed")["rows"] == 0
    assert len(keys(agent.events(is_snapshot=True), "shop.people")) == ROWS
    assert (agent.process.ask("/snapshot") or {})["counter_tables"] == 1
    assert b"cdc_snapshot_rows_total" in agent.process.get("/metrics")

    code, said = agent.snapshot("start", "shop.nothing")
    assert (code, said.count("shop.nothing: no such table")) == (4, 1)
    assert "not published" in agent.post("start", "shop.silent")
    assert "counter tables" in agent.post("start", "shop.hits")
    assert "shop.people: no snapshot is running" in agent.post("stop", "shop.people")
    code, said = agent.snapshot("start", "shop.people")
    assert (code, said) == (0, "Started the snapshot of shop.people.\n")
    agent.process.wait_until(
        lambda: len(keys(agent.events(is_snapshot=True), "shop.people")) == 2 * ROWS,
        "the second copy",
        DEADLINE_S,
    )
    code, said = agent.snapshot("status", "--follow", "shop.people")
    assert (code, "shop.people completed: 400 rows, 100.0%" in said) == (0, True)

    # A restart copies nothing again but what was made or published anew.
    node.execute("DROP TABLE shop.people")
    node.execute("CREATE TABLE shop.people (id int PRIMARY KEY, name text) WITH cdc = true")
    node.execute("INSERT INTO shop.people (id, name) VALUES (1, 'new')")
    agent.process.wait_until(
        lambda: not agent.copy_of("shop.people"), "the dropped table to be forgotten", DEADLINE_S
    )
    agent.process.stop()
    agent.process.launch("snapshot.mode=always")
    assert agent.wait_for("shop.people", "completed")["rows"] == 1
    node.execute("ALTER TABLE shop.people WITH cdc = false")
    agent.process.wait_until(
        lambda: not agent.copy_of("shop.people"), "the copy to be forgotten", DEADLINE_S
    )
    node.execute("INSERT INTO shop.people (id, name) VALUES (2, 'unseen')")
    node.execute("ALTER TABLE shop.people WITH cdc = true")
    assert agent.wait_for("shop.people", "completed")["rows"] == 2
    agent.process.stop()


def test_a_copy_outlives_its_server(
    node: CassandraNode, tmp_path: Path, stopping: list[Agent]
) -> None:
    """A node that is away is waited for, the copy goes on where it was, and can be stopped."""
    node.execute("CREATE TABLE shop.goods (id int PRIMARY KEY, name text) WITH cdc = true")
    for number in range(ROWS):
        node.execute(f"INSERT INTO shop.goods (id, name) VALUES ({number}, 'n')")
    agent = Agent(
        node,
        tmp_path,
        snapshot_mode="initial",
        snapshot_rows_per_second=20,
        table_include_list="shop.goods",
    )
    stopping.append(agent)
    agent.process.launch()
    agent.process.wait_until(
        lambda: agent.copy_of("shop.goods").get("rows", 0) > 0, "the first rows", DEADLINE_S
    )
    node.kill()
    agent.process.wait_until(
        lambda: bool((agent.process.ask("/snapshot") or {}).get("waiting")), "it waits", DEADLINE_S
    )
    node.start()
    code, said = agent.snapshot("stop", "shop.goods")
    assert (code, "Stopped the snapshot of shop.goods" in said) == (0, True)
    # The agent saves it in the next round of its pipeline.
    wait_until(lambda: agent.has_stored("stopped"), "the saved stop", deadline_s=DEADLINE_S)
    agent.process.kill()
    agent.process.launch("snapshot.rows.per.second=0")
    assert agent.wait_for("shop.goods", "stopped")["percent"] < 100
    wait_until(
        lambda: "Started" in agent.post("start", "shop.goods"), "the node", deadline_s=DEADLINE_S
    )
    agent.wait_for("shop.goods", "completed")
    assert len(set(keys(agent.events(is_snapshot=True), "shop.goods"))) == ROWS
    agent.process.stop()


def test_a_replica_that_is_away_is_waited_for(
    node: CassandraNode, tmp_path: Path, stopping: list[Agent]
) -> None:
    """One of two replicas is nowhere: said in one sentence, and what to do about it."""
    node.execute(
        "CREATE KEYSPACE pair WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 2}"
    )
    node.execute("CREATE TABLE pair.t (id int PRIMARY KEY) WITH cdc = true")
    node.execute("INSERT INTO pair.t (id) VALUES (1)")
    agent = Agent(node, tmp_path, snapshot_mode="initial", table_include_list="pair.t")
    stopping.append(agent)
    agent.process.launch()

    def waiting() -> str:
        return str((agent.process.ask("/snapshot") or {}).get("waiting", ""))

    agent.process.wait_until(lambda: "snapshot.consistency=ALL" in waiting(), "why", DEADLINE_S)
    assert "1 of 2 replicas are up" in waiting()
    health = agent.process.ask("/health") or {}
    assert health["components"]["snapshot"]["status"] == "degraded"
    agent.process.stop()
    agent.process.launch("snapshot.consistency=ONE")
    agent.wait_for("pair.t", "completed")
    assert keys(agent.events(is_snapshot=True), "pair.t") == ['{"id": 1}']
    agent.process.stop()


def test_a_broker_goes_away_and_the_agent_is_killed(
    node: CassandraNode, tmp_path: Path, stopping: list[Agent]
) -> None:
    """Nothing is lost, the log goes on beside the copy, and what comes twice is what was on its
    way."""
    with KafkaBroker(tmp_path / "kafka") as broker:
        agent = Agent(
            node,
            tmp_path / "agent",
            sink="kafka",
            kafka_producer_bootstrap_servers=broker.bootstrap,
            inflight_max_events=outage.WINDOW_EVENTS,
            snapshot_rows_per_second=outage.ROWS_PER_SECOND,
            table_include_list="shop.stock",
        )
        stopping.append(agent)
        copied = outage.copy_through_outages(node, broker, agent)
    for counts in (copied.outage, copied.kill):
        assert counts.keys() >= set(range(outage.ROWS))
        repeats = counts.total() - len(counts)
        print(counts.total(), "copied,", repeats, "of them again")
        assert repeats <= outage.WINDOW_EVENTS


def test_a_table_changes_and_goes_while_it_is_copied(
    node: CassandraNode, tmp_path: Path, stopping: list[Agent]
) -> None:
    """The statement is made anew; a table that is gone is forgotten, and no refusal."""
    table = "shop.shelves"
    create = f"CREATE TABLE {table} (id int PRIMARY KEY, name text) WITH cdc = true"
    node.execute(create)
    for number in range(ROWS):
        node.execute(f"INSERT INTO {table} (id, name) VALUES ({number}, 'n')")
    agent = Agent(
        node,
        tmp_path,
        snapshot_mode="always",
        snapshot_rows_per_second=60,
        table_include_list=table,
    )
    stopping.append(agent)

    def wait_until_begun() -> None:
        agent.process.wait_until(
            lambda: agent.copy_of(table).get("rows", 0) > 0, "the first rows", DEADLINE_S
        )

    agent.process.launch()
    wait_until_begun()
    node.execute(f"ALTER TABLE {table} DROP name")
    node.execute(f"ALTER TABLE {table} ADD place text")
    agent.wait_for(table, "completed")
    copied = agent.events(is_snapshot=True)
    assert len(set(keys(copied, table))) == ROWS
    assert "place" in copied[-1]["value"]["after"]

    assert "Started" in agent.post("start", table)
    wait_until_begun()
    node.execute(f"DROP TABLE {table}")
    agent.process.wait_until(lambda: not agent.copy_of(table), "it to be forgotten", DEADLINE_S)
    health = agent.process.ask("/health") or {}
    assert health["components"]["snapshot"]["status"] == "ok"
    node.execute(create)
    node.execute(f"INSERT INTO {table} (id, name) VALUES (-1, 'n')")
    assert agent.wait_for(table, "completed")["rows"] == 1
    agent.process.stop()


def test_every_level_asks_for_as_many_replicas_as_it_says(node: CassandraNode) -> None:
    """Of one replica."""
    node.execute("CREATE TABLE shop.levels (id int PRIMARY KEY)")
    node.execute("INSERT INTO shop.levels (id) VALUES (1)")
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
