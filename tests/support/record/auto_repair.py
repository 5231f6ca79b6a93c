"""Records schema changes of 5.0 with the columns of automatic repair in `system_schema`."""

from pathlib import Path

from tests.support.record.folder import new_folder, user_schema, write_segments, write_texts
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

_STATEMENTS = (
    "CREATE KEYSPACE repaired WITH replication = "
    "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE repaired.t (p int PRIMARY KEY, v text) WITH cdc = true",
    "INSERT INTO repaired.t (p, v) VALUES (1, 'one')",
    "ALTER TABLE repaired.t ADD w int",
    "INSERT INTO repaired.t (p, v, w) VALUES (2, 'two', 2)",
    "ALTER TABLE repaired.t WITH auto_repair = {'full_enabled': 'false', 'priority': '3'}",
    "INSERT INTO repaired.t (p, w) VALUES (3, 3)",
)


def record(folder: Path, scratch: Path) -> str:
    """One table, altered twice. Cassandra's reader cannot read these schema changes without the
    node's setting, so there is no dump."""
    settings = NodeSettings(
        storage_compatibility_mode="NONE",
        yaml={"auto_repair": {"enabled": True}},
        jvm_options=("-Dcassandra.autorepair.enable=true",),
    )
    with CassandraNode(scratch / "node", settings=settings) as node:
        for statement in _STATEMENTS:
            node.execute(statement)
        schema = user_schema(node)
        node.stop()
        new_folder(folder)
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        write_segments(folder, segments)
        write_texts(folder, schema, _STATEMENTS)
    return f"{len(segments)} segments"
