"""`python -m tests.integration.snapshot.cluster`: three nodes, three agents, one snapshot.

One agent copies every row of a keyspace with two replicas, and of one with three; at ALL a snapshot
waits for an unavailable node, and reports it.
"""

import tempfile
from pathlib import Path

from tests.support.node.snapshot_agent import Agent, keys
from tests.support.servers.cluster import CassandraCluster
from tests.support.servers.processes import wait_until
from tests.support.workloads.scenario import create_keyspace

ROWS = 600
TABLES = ("two.t", "three.t")


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="snapshot-cluster-") as folder,
        CassandraCluster(Path(folder) / "cluster") as cluster,
    ):
        first = cluster.nodes[0]
        for replicas, table in zip((2, 3), TABLES, strict=True):
            first.execute(create_keyspace(table.split(".")[0], replicas))
            first.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text) WITH cdc = true")
            for number in range(ROWS):
                first.execute(f"INSERT INTO {table} (id, v) VALUES ({number}, 'v')")
        agents = [
            Agent(node, Path(folder) / f"agent-{number}", snapshot_mode="initial")
            for number, node in enumerate(cluster.nodes)
        ]
        try:
            for agent in agents:
                agent.process.launch()
            for agent in agents:
                for table in TABLES:
                    agent.wait_for(table, "completed")
            for table in TABLES:
                copied = [keys(agent.events(is_snapshot=True), table) for agent in agents]
                counts = [len(each) for each in copied]
                print(f"{table}: {ROWS} rows, copied by the three agents: {counts}")
                assert sum(counts) == len({key for each in copied for key in each}) == ROWS
                assert min(counts) > ROWS / 6
            wait_for_a_node_that_is_away(cluster, agents[0])
        finally:
            for agent in agents:
                agent.process.end()


def wait_for_a_node_that_is_away(cluster: CassandraCluster, agent: Agent) -> None:
    away = cluster.nodes[2]
    away.kill()

    def waiting() -> str:
        return str((agent.process.ask("/snapshot") or {}).get("waiting", ""))

    agent.post("start", "three.t")
    wait_until(lambda: f"{away.address.host} does not answer" in waiting(), "the name of the node")
    print(waiting())
    away.start()
    agent.wait_for("three.t", "completed")


if __name__ == "__main__":
    main()
