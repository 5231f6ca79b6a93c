"""Records workloads one after the other on one node, each in segments of its own."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.record.folder import (
    KEYSTORE,
    drop_keyspaces,
    new_folder,
    run,
    user_schema,
    write_dump,
    write_segments,
    write_texts,
)
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings, release
from tests.support.workloads import scenario


def record(
    version: str,
    settings: NodeSettings,
    folders: Mapping[Path, str],
    scratch: Path,
    done: Callable[[Path, int], None],
) -> None:
    """`folders` maps each target to the workload's name; `done` is told of each and its updates.

    Before 4.0 a segment comes to `cdc_raw` when its tables are flushed, so there the node is
    stopped at the end, and one workload is all that it records.
    """
    with CassandraNode(scratch / "node", version=version, settings=settings) as node:
        for folder, name in folders.items():
            done(folder, _record_one(node, folder, name))
            if node.is_running:
                # The consumer's duty: what is read is deleted.
                for segment in node.cdc_segments():
                    if segment.is_completed:
                        segment.path.unlink()
                        segment.path.with_name(f"{segment.path.stem}_cdc.idx").unlink()


def _record_one(node: CassandraNode, folder: Path, name: str) -> int:
    # The statements of a recording are in its folder.
    workload = scenario(name, release(node.version))
    new_folder(folder)
    statements = run(node, workload)
    if release(node.version) >= (4, 0):
        schema = user_schema(node)
        node.close_segment()
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        drop_keyspaces(node, workload)
    else:
        schema = user_schema(node)
        node.stop()
        segments = [each.path for each in node.cdc_segments()]
    if node.settings.encryption is not None:
        shutil.copyfile(node.settings.encryption.keystore, folder / KEYSTORE)
    write_segments(folder, segments)
    write_texts(folder, schema, statements)
    return write_dump(folder, node.version)
