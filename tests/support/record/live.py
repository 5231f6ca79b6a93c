"""Records a node at work: `cdc_raw` copied every so often, each index before its segment."""

from pathlib import Path

from tests.support.record.folder import new_folder, write_dump, write_segments, write_texts
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads import random_statements, random_tables, schema_statements

_SNAPSHOTS = 8
_STATEMENTS_A_SNAPSHOT = 40
_SEED = 16


def record(folder: Path, scratch: Path, compression: str | None) -> str:
    """`snap-NN/` while the node writes; at the top the files after a clean stop."""
    new_folder(folder)
    settings = NodeSettings(commitlog_compression=compression, commitlog_sync_period_ms=400)
    writes = random_statements(_SEED, _SNAPSHOTS * _STATEMENTS_A_SNAPSHOT)
    with CassandraNode(scratch / "node", settings=settings) as node:
        tables = schema_statements(random_tables(_SEED))
        for statement in tables:
            node.execute(statement)
        schema = node.describe_schema()
        for number in range(_SNAPSHOTS):
            first = number * _STATEMENTS_A_SNAPSHOT
            for statement in writes[first : first + _STATEMENTS_A_SNAPSHOT]:
                node.execute(statement)
            snapshot = new_folder(folder / f"snap-{number + 1:02}")
            indexed = [each.path for each in node.cdc_segments() if each.index_offset is not None]
            write_segments(snapshot, indexed)
        node.stop()
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        write_segments(folder, segments)
        write_texts(folder, schema, [*tables, *writes])
    return f"{write_dump(folder)} updates, {_SNAPSHOTS} snapshots"
