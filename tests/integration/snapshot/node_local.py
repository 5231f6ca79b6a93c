"""`python -m tests.integration.snapshot.node_local [VERSION…]`: snapshots of each node's own data.

A node of each release rejects NODE_LOCAL. The agent reports this, and copies when the node has the
option. Then one of three nodes misses writes: with `snapshot.ranges=replica` the agents together
copy every row, and equal rows of two replicas have one id.
"""

import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.node.snapshot_agent import Agent
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import VERSIONS, NodeSettings, release
from tests.support.servers.cluster import CassandraCluster
from tests.support.workloads.scenario import create_keyspace

OPTION = "-Dcassandra.enable_nodelocal_queries=true"
SETTINGS = NodeSettings(commitlog_sync_period_ms=200)
TABLE = "two.t"
ROWS = 300


def main(versions: Iterable[str]) -> None:
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="node-local-") as folder:
            refused_and_allowed(version, Path(folder))
    with tempfile.TemporaryDirectory(prefix="node-local-cluster-") as folder:
        of_three_nodes(Path(folder))


def create(node: CassandraNode, replicas: int) -> None:
    node.execute(create_keyspace("two", replicas))
    node.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, v text) WITH cdc = true")


def write(node: CassandraNode, ids: Iterable[int]) -> None:
    for number in ids:
        node.execute(
            f"INSERT INTO {TABLE} (id, v) VALUES ({number}, 'v') USING TIMESTAMP {number + 1}"
        )


def local_agent(node: CassandraNode, folder: Path, ranges: str = "replica") -> Agent:
    return Agent(node, folder, snapshot_consistency="NODE_LOCAL", snapshot_ranges=ranges)


def waiting(agent: Agent) -> str:
    return str((agent.process.ask("/snapshot") or {}).get("waiting", ""))


def refused_and_allowed(version: str, folder: Path) -> None:
    with CassandraNode(folder / "node", version=version, settings=SETTINGS) as node:
        create(node, 1)
        write(node, range(ROWS))
        agent = local_agent(node, folder / "agent")
        try:
            agent.process.launch()
            agent.process.wait_until(lambda: OPTION in waiting(agent), "the node to refuse")
            print(f"{version}: {waiting(agent)}")
            if release(version) < (4, 0):
                return
            node.stop()
            node.start(replace(SETTINGS, jvm_options=[OPTION]))
            agent.wait_for(TABLE, "completed")
            found = ids_by_key(agent)
            print(f"{version}: with the option {len(found)} of {ROWS} rows")
            assert len(found) == ROWS
        finally:
            agent.process.end()


def of_three_nodes(folder: Path) -> None:
    settings = NodeSettings(
        commitlog_sync_period_ms=200, jvm_options=[OPTION], yaml={"hinted_handoff_enabled": False}
    )
    with CassandraCluster(folder / "cluster", settings=settings) as cluster:
        first, _, third = cluster.nodes
        create(first, 2)
        write(first, range(ROWS))
        third.kill()
        write(first, range(ROWS, 2 * ROWS))
        third.start()
        for ranges in ("replica", "primary"):
            agents = [
                local_agent(node, folder / f"agent-{ranges}-{number}", ranges)
                for number, node in enumerate(cluster.nodes)
            ]
            try:
                for agent in agents:
                    agent.process.launch()
                for agent in agents:
                    agent.wait_for(TABLE, "completed")
                copied = [ids_by_key(agent) for agent in agents]
            finally:
                for agent in agents:
                    agent.process.end()
            rows = {key for each in copied for key in each}
            ids = {identity for each in copied for identity in each.values()}
            events = sum(map(len, copied))
            print(f"{ranges}: {len(rows)} of {2 * ROWS} rows in {events} events, {len(ids)} ids")
            assert len(ids) == len(rows)
            if ranges == "replica":
                assert len(rows) == 2 * ROWS
                assert events > len(rows)
            else:
                # The third node is the first replica of rows that it missed.
                assert events == len(rows) < 2 * ROWS


def ids_by_key(agent: Agent) -> dict[int, Any]:
    return {each["key"]["id"]: each["headers"]["cdc.id"] for each in agent.events(is_snapshot=True)}


if __name__ == "__main__":
    main(sys.argv[1:] or VERSIONS)
