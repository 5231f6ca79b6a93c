"""Three nodes of Cassandra 6.0 whose clocks differ by ten minutes: on every node each event has the
definition of its epoch, and the same id."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import NoHostAvailable
from cassandra.query import SimpleStatement

from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.running_agent import is_drained, running
from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra import FILLER_KEYSPACE, CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.processes import wait_until
from tests.support.servers.shifted_clock import shift_clock
from tests.support.workloads import epochs

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

SHIFTS_S = (-300, 0, 300)
EXPECTED = [dict(step.row) for step in (*epochs.FIRST_RUN, *epochs.SECOND_RUN)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[CassandraCluster]:
    settings = NodeSettings(
        commitlog_sync_period_ms=200,
        storage_compatibility_mode="NONE",
        # Otherwise a node would expire the requests of a node with an earlier clock.
        yaml={"internode_timeout": False},
    )
    cluster = CassandraCluster(tmp_path / "nodes", version="6.0-alpha2", settings=settings)
    for node, shift_s in zip(cluster.nodes, SHIFTS_S, strict=True):
        shift_clock(node, shift_s)
    with cluster:
        yield cluster


def run(cluster: CassandraCluster, steps: tuple[epochs.Step, ...]) -> None:
    """Execute each statement on the next node. Writes wait for all replicas, so that each logs
    them. The node with the earliest clock drops the column that returns. Replicas discard its cells
    up to the time of the drop; a coordinator does not."""
    nodes = cluster.nodes
    for node in nodes:
        node.execute(f"USE {epochs.KEYSPACE}")
    for number, step in enumerate(steps):
        nodes[(number + 1) % len(nodes)].execute(step.ddl)
        write = SimpleStatement(step.write, consistency_level=ConsistencyLevel.ALL)
        nodes[number % len(nodes)].session().execute(write)


def sees_all(node: CassandraNode) -> bool:
    """Whether the node reaches every replica."""
    read = SimpleStatement(
        f"SELECT p FROM {epochs.KEYSPACE}.t LIMIT 1", consistency_level=ConsistencyLevel.ALL
    )
    try:
        node.session().execute(read)
    except NoHostAvailable:
        return False
    return True


def row(event: dict[str, Any]) -> dict[str, Any]:
    return {name: cell["value"] for name, cell in event["value"]["after"].items() if cell}


def has_events(agent: Agent) -> bool:
    return len(agent.events()) >= len(EXPECTED)


def events_from_the_log_alone(node: CassandraNode, folder: Path) -> list[dict[str, Any]]:
    """The schema file contains only another table."""
    folder.mkdir()
    agent_dir = AgentDir(folder)
    agent_dir.copy_segments(node)
    with running(agent_dir):
        wait_until(lambda: is_drained(agent_dir), "the segments")
    return [json.loads(line) for line in agent_dir.events.read_bytes().splitlines()]


def events_beside_the_node(node: CassandraNode, folder: Path) -> list[dict[str, Any]]:
    agent = Agent(node, folder, snapshot_mode="never")
    try:
        agent.process.launch()
        agent.process.wait_until(partial(has_events, agent), "all events")
    finally:
        agent.process.end()
    return agent.events()


def assert_equal_on_all_nodes(events: list[list[dict[str, Any]]]) -> None:
    assert [[row(event) for event in each] for each in events] == [EXPECTED] * len(SHIFTS_S)
    ids = [[event["headers"]["cdc.id"] for event in each] for each in events]
    assert ids[0] == ids[1] == ids[2]


def test_nodes_with_clock_skew_log_equal_events(cluster: CassandraCluster, tmp_path: Path) -> None:
    nodes = cluster.nodes
    keyspace, *others = epochs.BEFORE
    on_all_nodes = keyspace.replace("'replication_factor': 1", "'replication_factor': 3")
    nodes[0].execute(on_all_nodes)
    nodes[0].execute(on_all_nodes.replace(epochs.KEYSPACE, FILLER_KEYSPACE))
    for statement in others:
        nodes[0].execute(statement)
    run(cluster, epochs.FIRST_RUN)
    nodes[-1].restart()
    for node in nodes:
        wait_until(partial(sees_all, node), "the restarted node")
    run(cluster, epochs.SECOND_RUN)
    for node in nodes:
        node.close_segment()
    assert_equal_on_all_nodes(
        [
            events_from_the_log_alone(node, tmp_path / f"log-{number}")
            for number, node in enumerate(nodes)
        ]
    )
    assert_equal_on_all_nodes(
        [
            events_beside_the_node(node, tmp_path / f"agent-{number}")
            for number, node in enumerate(nodes)
        ]
    )
