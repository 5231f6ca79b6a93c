"""Records schema changes of 6.0 with a write after each, and a restart between."""

from pathlib import Path

from tests.support.record.folder import new_folder, user_schema, write_segments, write_texts
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads import epochs


def record(folder: Path, scratch: Path) -> str:
    """Cassandra's reader takes one schema for all segments, so there is no dump: the rows are
    those of the workload."""
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
        schema = user_schema(node)
        node.stop()
        new_folder(folder)
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        write_segments(folder, segments)
        write_texts(folder, schema, statements)
    return f"{len(segments)} segments"
