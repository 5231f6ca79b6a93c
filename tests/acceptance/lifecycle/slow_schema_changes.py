"""Three nodes with one agent each: every schema change has one id, even if agents are killed."""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.schema.history import FILE_NAME
from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cluster import CassandraCluster
from tests.support.workloads.scenario import create_keyspace

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

MODES = {"5.0.9": "CASSANDRA_4", "6.0-alpha2": "NONE"}
COLUMNS = 12


@pytest.fixture(params=MODES)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CassandraCluster]:
    settings = NodeSettings(
        commitlog_sync_period_ms=200, storage_compatibility_mode=MODES[request.param]
    )
    with CassandraCluster(tmp_path / "nodes", version=request.param, settings=settings) as cluster:
        yield cluster


def changes(agent: Agent) -> dict[str, dict[str, Any]]:
    """Messages of the schema-change topic by id, in the order of their first arrival."""
    found: dict[str, dict[str, Any]] = {}
    for each in agent.events(is_snapshot=False):
        if each["headers"]["cdc.kind"] == "schema":
            found.setdefault(each["headers"]["cdc.id"], each["value"])
    return found


def has_changes(agent: Agent, count: int) -> bool:
    return len(changes(agent)) >= count


def has_last_event(agent: Agent) -> bool:
    return any(each["value"].get("after", {}).get("v") for each in agent.events())


def assert_definitions_come_first(agent: Agent) -> None:
    """Every column of an event was announced before the event."""
    announced: dict[str, set[str]] = {}
    for each in agent.events():
        value = each["value"]
        table = value["source"]["table"]
        if each["headers"]["cdc.kind"] == "schema":
            definition = value["tableChanges"][0]["table"] or {"columns": []}
            announced[table] = {column["name"] for column in definition["columns"]}
        else:
            written = {name for name, cell in value["after"].items() if cell is not None}
            assert written <= announced[table]


def test_schema_change_id_is_equal_on_all_nodes(cluster: CassandraCluster, tmp_path: Path) -> None:
    first = cluster.nodes[0]
    first.execute(create_keyspace("s", 3))
    agents = [
        Agent(
            node, tmp_path / f"agent-{index}", include_schema_changes="true", snapshot_mode="never"
        )
        for index, node in enumerate(cluster.nodes)
    ]
    randomness = random.Random(6)
    try:
        for agent in agents:
            agent.process.launch()
        for agent in agents:
            stored = agent.directory / "offsets" / FILE_NAME
            agent.process.wait_until(stored.exists, "the first announcement")
        first.execute("CREATE TABLE s.t (k int PRIMARY KEY, v int) WITH cdc = true")
        for number in range(COLUMNS):
            coordinator = randomness.choice(cluster.nodes)
            coordinator.execute(f"ALTER TABLE s.t ADD c{number} int")
            coordinator.execute(f"INSERT INTO s.t (k, c{number}) VALUES ({number}, {number})")
            if number % 3 == 2:
                killed = randomness.choice(agents)
                killed.process.kill()
                killed.process.launch()
        first.execute("ALTER TABLE s.t DROP c0")
        first.execute(f"INSERT INTO s.t (k, v) VALUES ({COLUMNS}, 1)")
        expected = ["CREATE", *["ALTER"] * (COLUMNS + 1)]
        for agent in agents:
            has_all = partial(has_changes, agent, len(expected))
            agent.process.wait_until(has_all, "the schema changes")
        found = [changes(agent) for agent in agents]
        types = [each["tableChanges"][0]["type"] for each in found[0].values()]
        assert types == expected
        assert list(found[0]) == list(found[1]) == list(found[2])
        statements = [[value["ddl"] for value in each.values()] for each in found]
        assert statements[0] == statements[1] == statements[2]
        for agent in agents:
            has_last = partial(has_last_event, agent)
            agent.process.wait_until(has_last, "the last event")
            assert_definitions_come_first(agent)
    finally:
        for agent in agents:
            agent.process.end()
