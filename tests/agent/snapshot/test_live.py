"""Copies of a real node's tables by a real agent, while writes go on."""

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.win.tables import Tables
from tests.agent.snapshot.beside import DEADLINE_S, Agent, keys
from tests.agent.snapshot.writes import COLUMNS, TYPES, Writer
from tests.harness.cassandra import CassandraNode
from tests.harness.cassandra_settings import NodeSettings
from tests.harness.processes import wait_until
from tests.merge.comparison import differences, select_all

pytestmark = pytest.mark.servers

ROWS = 400


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    settings = NodeSettings(commitlog_sync_period_ms=200)
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
    table = "shop.orders"
    node.execute(f"CREATE TABLE {table} ({COLUMNS})")
    writer = Writer(table, seed)
    for statement in writer.statements(3000, "before"):
        node.execute(statement)
    agent = Agent(node, tmp_path, snapshot_mode="ALWAYS", snapshot_rows_per_second=150)
    stopping.append(agent)
    agent.process.launch()
    agent.process.wait_until(
        lambda: agent.process.ask("/snapshot") is not None, "the agent", DEADLINE_S
    )
    node.execute(f"ALTER TABLE {table} WITH cdc = true")

    def write() -> None:
        for statement in writer.statements(3000, "meanwhile"):
            session.execute(statement)

    session = node.connect()
    writing = threading.Thread(target=write)
    writing.start()
    agent.process.wait_until(
        lambda: 0 < agent.copy_of(table).get("percent", 0) < 90, "a part of it", DEADLINE_S
    )
    agent.process.kill()
    before = len(agent.events(is_snapshot=True))
    agent.process.launch("snapshot.rows.per.second=0")
    agent.wait_for(table, "completed")
    writing.join()
    copied = agent.events(is_snapshot=True)
    # What was acknowledged before the kill is not copied again.
    assert len(copied) < before + len(set(keys(copied, table))) * 0.95

    node.execute("CREATE TABLE shop.last (id int PRIMARY KEY) WITH cdc = true")
    node.execute("INSERT INTO shop.last (id) VALUES (1)")
    agent.process.wait_until(
        lambda: bool(keys(agent.events(is_snapshot=False), "shop.last")), "the end", DEADLINE_S
    )
    (found,) = node.execute(
        "SELECT id FROM system_schema.tables WHERE keyspace_name = 'shop' AND table_name = 'orders'"
    )
    events = agent.events()
    secrets.SystemRandom().shuffle(events)
    tables = Tables()
    for event in events:
        tables.apply(event["value"])
    selected = select_all(node.session(), "shop", "orders")
    print(len(events), "events,", len(copied), "copied,", len(selected.rows), "rows")
    assert differences(tables.of(found.id), selected) == []


def test_what_a_person_asks_for(node: CassandraNode, tmp_path: Path, stopping: list[Agent]) -> None:
    """`agent snapshot start|stop|status`, tables that are dropped, made again, switched off."""
    node.execute("CREATE TABLE shop.people (id int PRIMARY KEY, name text) WITH cdc = true")
    node.execute("CREATE TABLE shop.hits (id int PRIMARY KEY, n counter) WITH cdc = true")
    node.execute("CREATE TABLE shop.silent (id int PRIMARY KEY)")
    for number in range(ROWS):
        node.execute(f"INSERT INTO shop.people (id, name) VALUES ({number}, 'n')")
    agent = Agent(node, tmp_path, snapshot_mode="initial")
    stopping.append(agent)
    agent.process.launch()
    assert agent.wait_for("shop.people", "completed")["rows"] == ROWS
    assert len(keys(agent.events(is_snapshot=True), "shop.people")) == ROWS
    assert (agent.process.ask("/snapshot") or {})["counter_tables"] == 1
    assert b"cdc_snapshot_rows_total" in agent.process.get("/metrics")

    code, said = agent.snapshot("start", "--table", "shop.nothing")
    assert (code, said.count("There is no table shop.nothing")) == (4, 1)
    assert "not published" in agent.post("start", "shop.silent")
    assert "counters" in agent.post("start", "shop.hits")
    assert "No snapshot of shop.people is on its way" in agent.post("stop", "shop.people")
    code, said = agent.snapshot("start", "--table", "shop.people")
    assert (code, said) == (0, "The snapshot of shop.people begins.\n")
    agent.process.wait_until(
        lambda: len(keys(agent.events(is_snapshot=True), "shop.people")) == 2 * ROWS,
        "the second copy",
        DEADLINE_S,
    )
    code, said = agent.snapshot("status", "--follow", "--table", "shop.people")
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
    code, said = agent.snapshot("stop", "--table", "shop.goods")
    assert (code, "is stopped" in said) == (0, True)
    agent.process.kill()
    agent.process.launch("snapshot.rows.per.second=0")
    assert agent.wait_for("shop.goods", "stopped")["percent"] < 100
    wait_until(
        lambda: "begins" in agent.post("start", "shop.goods"), "the node", deadline_s=DEADLINE_S
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
    assert health["components"]["snapshot"]["status"] == "failing"
    agent.process.stop()
    agent.process.launch("snapshot.consistency=ONE")
    agent.wait_for("pair.t", "completed")
    assert keys(agent.events(is_snapshot=True), "pair.t") == ['{"id": 1}']
    agent.process.stop()
