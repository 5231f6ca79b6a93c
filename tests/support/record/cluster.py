"""Records one workload on three nodes with three replicas: one folder a node."""

from pathlib import Path

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.support.record.folder import new_folder, write_nodes
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cluster import CassandraCluster
from tests.support.workloads import random_statements, random_tables, schema_statements

_SEED = 3
_STATEMENTS = 150
_SETTINGS = NodeSettings(heap_mib=384)


def record(
    folder: Path,
    scratch: Path,
    version: str = "5.0.9",
    settings: NodeSettings = _SETTINGS,
    statements: int = _STATEMENTS,
) -> str:
    """`node1`, `node2`, `node3` under `folder`; every write at ALL through another node."""
    new_folder(folder)
    tables = schema_statements(random_tables(_SEED), replication_factor=3)
    writes = random_statements(_SEED, statements)
    with CassandraCluster(scratch / "cluster", version=version, settings=settings) as cluster:
        for text in tables:
            cluster.nodes[0].execute(text)
        sessions = [node.session() for node in cluster.nodes]
        for number, text in enumerate(writes):
            statement = SimpleStatement(text, consistency_level=ConsistencyLevel.ALL)
            sessions[number % len(sessions)].execute(statement)
        schema = cluster.nodes[0].describe_schema()
        cluster.stop()
        return write_nodes(folder, cluster.nodes, schema, [*tables, *writes])
