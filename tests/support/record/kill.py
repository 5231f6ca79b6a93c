"""Records what a killed node leaves: `cdc_raw` after the kill, after the restart, after a stop.

Each stage is a folder with all of `cdc_raw`, its listing and the dump by Cassandra's own reader.
"""

from pathlib import Path

from tests.support.record.folder import new_folder, write_dump, write_segments, write_texts
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads import random_statements, random_tables, schema_statements

_STATEMENTS = 160
_RESTARTED = 40
_SEED = 9


def record(folder: Path, scratch: Path, compression: str | None) -> str:
    """Three stages under `folder`."""
    new_folder(folder)
    settings = NodeSettings(commitlog_compression=compression, commitlog_sync_period_ms=2000)
    writes = random_statements(_SEED, _STATEMENTS + _RESTARTED)
    with CassandraNode(scratch / "node", settings=settings) as node:
        for statement in schema_statements(random_tables(_SEED)):
            node.execute(statement)
        schema = node.describe_schema()
        for statement in writes[: _STATEMENTS // 2]:
            node.execute(statement)
        node.wait_for_index()
        # The rest follows the index closely enough that part of it is never synced.
        for statement in writes[_STATEMENTS // 2 : _STATEMENTS]:
            node.execute(statement)
        node.kill()
        updates = [_stage(node, folder / "1-after-kill", schema)]
        node.start()
        updates.append(_stage(node, folder / "2-after-restart", schema))
        for statement in writes[_STATEMENTS:]:
            node.execute(statement)
        node.stop()
        updates.append(_stage(node, folder / "3-after-clean-stop", schema))
    return f"updates by stage: {', '.join(map(str, updates))}"


def _stage(node: CassandraNode, folder: Path, schema: str) -> int:
    new_folder(folder)
    (folder / "listing.txt").write_text(listing(node))
    write_segments(folder, sorted(node.cdc_raw.glob("CommitLog-*.log")))
    write_texts(folder, schema, [])
    return write_dump(folder, may_be_cut=True)


def listing(node: CassandraNode) -> str:
    """A line for each file of `cdc_raw`: size, links, whether the node still has it, index text."""
    lines = []
    for path in sorted(node.cdc_raw.iterdir()):
        status = path.stat()
        in_commitlog = "yes" if (node.commitlog / path.name).exists() else "no"
        line = f"{path.name} size={status.st_size} links={status.st_nlink}"
        line += f" in_commitlog={in_commitlog}"
        if path.suffix == ".idx":
            line += f" text={path.read_text()!r}"
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)
