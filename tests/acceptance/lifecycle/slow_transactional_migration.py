"""A table leaves Accord by the printed statement and command of `agent check`, on two nodes of 6.0,
because a repair of one replica does nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from examples.agent_process import AgentProcess
from tests.support.agents.agent_command import agent
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_health import health
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cassandra_tools import nodetool
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.workloads.scenario import create_keyspace

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

HOSTS = ("127.0.6.31", "127.0.6.32")
SETTINGS = NodeSettings(
    storage_compatibility_mode="NONE",
    commitlog_sync_period_ms=100,
    # Cassandra cannot migrate to or from version 1 of Paxos, the default.
    yaml={"accord": {"enabled": True}, "paxos_variant": "v2"},
)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CassandraNode]:
    with CassandraCluster(
        tmp_path, node_count=2, version="6.0-alpha2", settings=SETTINGS, hosts=HOSTS
    ) as cluster:
        yield cluster.nodes[0]


def write(node: CassandraNode, key: int) -> None:
    statement = f"INSERT INTO shop.orders (id, v) VALUES ({key}, 'v{key}')"
    node.session().execute(SimpleStatement(statement, consistency_level=ConsistencyLevel.QUORUM))


def finding(path: Path) -> Any:
    findings = json.loads(agent("check", "--json", "--config", path).output)["findings"]
    (found,) = (each for each in findings if each["subject"] == "unlogged writes")
    return found


def test_accord_migration_remedy_is_sufficient(node: CassandraNode, agent_dir: AgentDir) -> None:
    node.execute(create_keyspace("shop", 2))
    node.execute(
        "CREATE TABLE shop.orders (id int PRIMARY KEY, v text) "
        "WITH cdc = true AND transactional_mode = 'full'"
    )
    changes = {
        "schema.file": None,
        "node.id": None,
        "cluster.name": None,
        "cdc.raw.directory": None,
        "cassandra.config": str(node.yaml),
        "schema.refresh.interval.ms": "500",
    }
    path = agent_dir.configuration(changes)
    found = finding(path)
    (alter,) = re.findall(r"ALTER TABLE [^;]*;", found["remedy"])
    (command,) = re.findall(r"`nodetool ([^`]*)`", found["remedy"])
    with AgentProcess(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
        process.wait_until("a degraded agent", lambda: health(process)[0] == 503, DEADLINE_S)
        write(node, 1)
        node.execute(alter)
        found = finding(path)
        assert "shop.orders (transactional_migration_from = 'full')" in found["message"]
        assert re.findall(r"`nodetool ([^`]*)`", found["remedy"]) == [command]
        nodetool(node, *command.split())
        process.wait_until("recovery", lambda: health(process)[0] == 200, DEADLINE_S)
        assert finding(path)["level"] == "ok"
        write(node, 2)
        wait_until(
            lambda: agent_dir.events.exists() and b'"id"' in agent_dir.events.read_bytes(),
            "an event",
        )
        assert process.stop() == 0
    lines = agent_dir.events.read_bytes().splitlines()
    assert [json.loads(line)["value"]["after"]["id"]["value"] for line in lines] == [2]
