"""Records schema changes with writes between them.

Cassandra's reader takes one schema for all segments, and that of automatic repair with the node's
setting alone, so there is no dump.
"""

from pathlib import Path

from tests.support.record.folder import new_folder, user_schema, write_segments, write_texts
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads import epochs

_AUTO_REPAIR = (
    "CREATE KEYSPACE repaired WITH replication = "
    "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE repaired.t (p int PRIMARY KEY, v text) WITH cdc = true",
    "INSERT INTO repaired.t (p, v) VALUES (1, 'one')",
    "ALTER TABLE repaired.t ADD w int",
    "INSERT INTO repaired.t (p, v, w) VALUES (2, 'two', 2)",
    "ALTER TABLE repaired.t WITH auto_repair = {'full_enabled': 'false', 'priority': '3'}",
    "INSERT INTO repaired.t (p, w) VALUES (3, 3)",
)


def record_auto_repair(folder: Path, scratch: Path) -> str:
    """One table of 5.0, altered twice, with the columns of automatic repair in `system_schema`."""
    settings = NodeSettings(
        storage_compatibility_mode="NONE",
        yaml={"auto_repair": {"enabled": True}},
        jvm_options=("-Dcassandra.autorepair.enable=true",),
    )
    with CassandraNode(scratch / "node", settings=settings) as node:
        for statement in _AUTO_REPAIR:
            node.execute(statement)
        return _keep(node, folder, list(_AUTO_REPAIR))


def record_epochs(folder: Path, scratch: Path) -> str:
    """Changes of 6.0 with a write after each, and a restart between. The rows are those of the
    workload."""
    settings = NodeSettings(storage_compatibility_mode="NONE")
    with CassandraNode(scratch / "node", version="6.0-alpha2", settings=settings) as node:
        statements = list(epochs.BEFORE)
        for statement in epochs.BEFORE:
            node.execute(statement)
        for run in (epochs.FIRST_RUN, epochs.SECOND_RUN):
            node.execute(f"USE {epochs.KEYSPACE}")
            for step in run:
                node.execute(step.ddl)
                node.execute(step.write)
                statements += [step.ddl, step.write]
            if run is epochs.FIRST_RUN:
                node.restart()
        return _keep(node, folder, statements)


def _keep(node: CassandraNode, folder: Path, statements: list[str]) -> str:
    schema = user_schema(node)
    node.stop()
    segments = [each.path for each in node.cdc_segments() if each.is_completed]
    write_segments(new_folder(folder), segments)
    write_texts(folder, schema, statements)
    return f"{len(segments)} segments"
