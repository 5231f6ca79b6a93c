"""Schema changes in quick succession on a node of Cassandra 6.0, with a write after each and a
restart between: each event has the definition of its epoch, whatever the schema comes from."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.running_agent import DEADLINE_S, is_drained, running
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.processes import wait_until
from tests.support.workloads import epochs

pytestmark = pytest.mark.servers

EXPECTED = [dict(step.row) for step in (*epochs.FIRST_RUN, *epochs.SECOND_RUN)]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    """A node with completed segments of both runs."""
    settings = NodeSettings(storage_compatibility_mode="NONE", commitlog_sync_period_ms=100)
    directory = tmp_path_factory.mktemp("epochs") / "node"
    with CassandraNode(directory, version="6.0-alpha2", settings=settings) as node:
        for statement in epochs.BEFORE:
            node.execute(statement)
        run(node, epochs.FIRST_RUN)
        node.restart()
        run(node, epochs.SECOND_RUN)
        node.close_segment()
        yield node


def run(node: CassandraNode, steps: tuple[epochs.Step, ...]) -> None:
    node.execute(f"USE {epochs.KEYSPACE}")
    for step in steps:
        node.execute(step.ddl)
        node.execute(step.write)


def rows(agent_dir: AgentDir) -> list[dict[str, Any]]:
    found = []
    for line in agent_dir.events.read_bytes().splitlines():
        after = json.loads(line)["value"]["after"]
        found.append({name: cell["value"] for name, cell in after.items() if cell})
    return found


def delivered(agent_dir: AgentDir, changes: dict[str, str | None]) -> list[dict[str, Any]]:
    with running(agent_dir, changes):
        wait_until(lambda: is_drained(agent_dir), "the segments to be delivered", deadline_s=300)
    return rows(agent_dir)


def of_the_node(node: CassandraNode) -> dict[str, str | None]:
    """The schema of the running node, which is that after the last statement."""
    return {
        "schema.file": None,
        "cassandra.hosts": node.address.host,
        "cassandra.port": str(node.address.cql_port),
    }


def test_the_log_alone_is_enough(node: CassandraNode, agent_dir: AgentDir) -> None:
    """The schema file has another table only."""
    agent_dir.copy_segments(node)
    assert delivered(agent_dir, {}) == EXPECTED


def test_the_schema_of_the_node_is_that_of_the_last_epoch(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    agent_dir.copy_segments(node)
    assert delivered(agent_dir, of_the_node(node)) == EXPECTED


def test_the_stored_schema_has_every_definition(node: CassandraNode, agent_dir: AgentDir) -> None:
    """The segments arrive again after a restart of the agent, as from the quarantine."""
    agent_dir.copy_segments(node)
    assert delivered(agent_dir, {}) == EXPECTED
    (agent_dir.offsets / "offsets.json").unlink(missing_ok=True)
    for path in agent_dir.offsets.glob("*"):
        if path.name != "schema_history.json.gz":
            path.unlink()
    agent_dir.events.unlink()
    agent_dir.copy_segments(node)
    assert delivered(agent_dir, {}) == EXPECTED


def test_an_agent_beside_the_node_follows(node: CassandraNode, agent_dir: AgentDir) -> None:
    """More changes while the agent runs on the node's own directory."""
    changes = {**of_the_node(node), "cdc.raw.directory": str(node.cdc_raw)}
    steps = (
        epochs.Step(
            "ALTER TABLE t RENAME spot TO here",
            "INSERT INTO t (p, here, v) VALUES (21, 1, 0x32)",
            {"p": 21, "here": 1, "v": "Mg=="},
        ),
        epochs.Step(
            "ALTER TYPE place ADD zip int",
            "INSERT INTO t (p, here, home) VALUES (22, 1, {street: 'b', town: 'c', zip: 3})",
            {"p": 22, "here": 1, "home": {"street": "b", "town": "c", "zip": 3}},
        ),
    )
    expected = [*EXPECTED, *(dict(step.row) for step in steps)]
    with running(agent_dir, changes):
        run(node, steps)
        node.close_segment()
        wait_until(
            lambda: agent_dir.events.exists() and len(rows(agent_dir)) >= len(expected),
            "all events",
            deadline_s=DEADLINE_S,
        )
    assert rows(agent_dir) == expected
