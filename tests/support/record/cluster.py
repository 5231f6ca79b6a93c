"""Records workloads on three nodes, at ALL, each write through another node: one folder a node."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.support.record.folder import new_folder, write_dump, write_segments, write_texts
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cluster import CassandraCluster
from tests.support.workloads import random_statements, random_tables, schema_statements

_SEED = 3
_SETTINGS = NodeSettings(heap_mib=384)


def record(
    folder: Path,
    scratch: Path,
    version: str = "5.0.9",
    settings: NodeSettings = _SETTINGS,
    statements: int = 150,
) -> str:
    """Random writes with three replicas."""
    tables = schema_statements(random_tables(_SEED), replication_factor=3)
    writes = random_statements(_SEED, statements)
    return record_writes(folder, scratch, tables, writes, version=version, settings=settings)


def record_writes(
    folder: Path,
    scratch: Path,
    tables: Sequence[str],
    writes: Sequence[str],
    *,
    version: str = "5.0.9",
    settings: NodeSettings = _SETTINGS,
    ask: Callable[[Any], None] = lambda session: None,
) -> str:
    """`node1`, `node2`, `node3` under `folder`; `ask` is given a session after the last write."""
    new_folder(folder)
    with CassandraCluster(scratch / "cluster", version=version, settings=settings) as cluster:
        for text in tables:
            cluster.nodes[0].execute(text)
        sessions = [node.session() for node in cluster.nodes]
        for number, text in enumerate(writes):
            statement = SimpleStatement(text, consistency_level=ConsistencyLevel.ALL)
            sessions[number % len(sessions)].execute(statement)
        ask(sessions[0])
        schema = cluster.nodes[0].describe_schema()
        cluster.stop()
        updates = []
        for number, node in enumerate(cluster.nodes, 1):
            target = new_folder(folder / f"node{number}")
            write_segments(target, [each.path for each in node.cdc_segments() if each.is_completed])
            write_texts(target, schema, [*tables, *writes])
            updates.append(write_dump(target, node.version))
        return f"updates by node: {', '.join(map(str, updates))}"
