"""A node that is upgraded in place, and an agent that writes its events to a file."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cassandra.cluster import Session

from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_thread import AgentThread
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.processes import DEADLINE_S as DEADLINE_S

ROWS = 20
SETTINGS = NodeSettings(commitlog_sync_period_ms=200, heap_mib=640)
TABLE = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE shop.orders (id int, line int, PRIMARY KEY (id, line)) WITH cdc = true",
)


def write(node: CassandraNode | Session, first: int, value: str | None = None) -> None:
    for number in range(first, first + ROWS):
        columns, values = ("id, line", f"1, {number}")
        if value is not None:
            columns, values = f"{columns}, v", f"{values}, '{value}'"
        node.execute(f"INSERT INTO shop.orders ({columns}) VALUES ({values})")


def events(agent_dir: AgentDir) -> list[Any]:
    if not agent_dir.events.exists():
        return []
    whole_lines = agent_dir.events.read_bytes().rpartition(b"\n")[0].splitlines()
    return [json.loads(line) for line in whole_lines]


def arrived(agent_dir: AgentDir) -> list[tuple[str, int]]:
    """Version in the segment's name, and row, of each event."""
    return [
        (event["value"]["source"]["file"][:11], event["key"]["line"]) for event in events(agent_dir)
    ]


def configuration(agent_dir: AgentDir, node: CassandraNode) -> Path:
    return agent_dir.beside(node)


def agent(agent_dir: AgentDir, path: Path) -> AgentThread:
    return AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0)


def follows(process: AgentThread) -> bool:
    health = process.health()
    return health is not None and "cdc_raw" in health.messages


def nodes_of_5_0_and_6_0(
    directory: Path, mode: str, yaml: Mapping[str, object] | None = None
) -> tuple[CassandraNode, CassandraNode]:
    settings = replace(SETTINGS, storage_compatibility_mode=mode, yaml=yaml or {})
    old = CassandraNode(directory, version="5.0.9", settings=settings)
    return old, CassandraNode(
        directory, version="6.0-alpha2", settings=settings, address=old.address
    )


def host_id(node: CassandraNode) -> str:
    return str(node.execute("SELECT host_id FROM system.local")[0].host_id)


def assert_arrived(process: AgentThread, agent_dir: AgentDir, count: int) -> None:
    """Assert that all rows arrive in order and the agent has no condition."""

    def are_all() -> bool:
        return len(arrived(agent_dir)) >= count

    process.wait_until(f"{count} events", are_all)

    def is_ok() -> bool:
        health = process.health()
        return health is not None and health.ok

    process.wait_until("the status to be ok", is_ok)
    assert [line for _, line in arrived(agent_dir)] == list(range(count))
