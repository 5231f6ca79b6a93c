"""A node is upgraded under a running agent."""

import json
from pathlib import Path

import pytest

from examples.agent_process import AgentProcess
from tests.support.agent_directory import AgentDir
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

pytestmark = pytest.mark.servers

DEADLINE_S = 300.0
ROWS = 20
SETTINGS = NodeSettings(commitlog_sync_period_ms=200, heap_mib=640)


def write(node: CassandraNode, first: int) -> None:
    for number in range(first, first + ROWS):
        node.execute(f"INSERT INTO shop.orders (id, line) VALUES (1, {number})")


def arrived(agent_dir: AgentDir) -> list[tuple[str, int]]:
    """Of each event the version in the name of its segment, and its row."""
    if not agent_dir.events.exists():
        return []
    whole_lines = agent_dir.events.read_bytes().rpartition(b"\n")[0].splitlines()
    events = [json.loads(line) for line in whole_lines]
    return [(event["value"]["source"]["file"][:11], event["key"]["line"]) for event in events]


def follows(process: AgentProcess) -> bool:
    health = process.health()
    return health is not None and "cdc_raw" in health.messages


def test_an_upgrade_from_3_11_to_4_1(tmp_path: Path, agent_dir: AgentDir) -> None:
    """The old node leaves its last segment when it stops, without an index file, and the new one
    writes another version into the same directory."""
    old = CassandraNode(tmp_path / "node", version="3.11.19", settings=SETTINGS)
    new = CassandraNode(tmp_path / "node", version="4.1.10", settings=SETTINGS, address=old.address)
    with old:
        old.execute(
            "CREATE KEYSPACE shop WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        old.execute(
            "CREATE TABLE shop.orders (id int, line int, PRIMARY KEY (id, line)) WITH cdc = true"
        )
        path = agent_dir.configuration(
            {
                "schema.file": None,
                "node.id": None,
                "cluster.name": None,
                "cdc.raw.directory": None,
                "cassandra.config": str(old.yaml),
            }
        )
        with AgentProcess(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
            process.wait_until("the first look", lambda: follows(process), DEADLINE_S)
            write(old, 0)
            old.stop()
            process.wait_until(
                "the old node's events", lambda: len(arrived(agent_dir)) == ROWS, DEADLINE_S
            )
            with new:
                write(new, ROWS)
                write(new, 2 * ROWS)
                process.wait_until(
                    "the new node's events", lambda: len(arrived(agent_dir)) == 3 * ROWS, DEADLINE_S
                )
            health = process.health()
            assert health is not None
            assert "the quarantine is empty" in health.messages["quarantine"]
            assert process.stop() == 0
    assert arrived(agent_dir) == [
        *(("CommitLog-6", number) for number in range(ROWS)),
        *(("CommitLog-7", number) for number in range(ROWS, 3 * ROWS)),
    ]
