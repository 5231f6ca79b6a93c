"""One folder of recorded segments: how it is written."""

import gzip
import json
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support.servers.cassandra import FILLER_KEYSPACE, CassandraNode
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java_reader import dump_segments, reader_of

KEYSTORE = "cassandra.keystore"
"""The node's keystore beside encrypted segments."""


def new_folder(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def user_schema(node: CassandraNode) -> str:
    """The node's schema without the table that fills segments."""
    parts = node.describe_schema().split("\n\n")
    start = re.compile(rf"CREATE (KEYSPACE {FILLER_KEYSPACE} |TABLE {FILLER_KEYSPACE}\.)")
    return "\n\n".join(part for part in parts if not start.match(part.lstrip())).rstrip() + "\n"


def pack(source: Path, target: Path) -> None:
    """gzip without name and time, so that equal bytes stay equal."""
    write_packed(target, source.read_bytes())


def write_packed(target: Path, data: bytes) -> None:
    with target.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(data)


def write_segments(folder: Path, segments: Iterable[Path]) -> None:
    """Segments and, where there is one, their index files. The index is copied first: it may
    change, and must not say more than the copy of its segment holds."""
    for segment in segments:
        index = segment.with_name(f"{segment.stem}_cdc.idx")
        if index.exists():
            shutil.copyfile(index, folder / index.name)
        pack(segment, folder / f"{segment.name}.gz")


def write_texts(folder: Path, schema: str, statements: Sequence[str]) -> None:
    """`schema.cql` and `statements.cql.gz`."""
    (folder / "schema.cql").write_text(schema, encoding="utf-8")
    if statements:
        text = "".join(f"{statement};\n" for statement in statements)
        write_packed(folder / "statements.cql.gz", text.encode())


def write_dump(folder: Path, version: str = "5.0.9", *, may_be_cut: bool = False) -> int:
    """`dump.ndjson.gz` by Cassandra's own reader; gives the number of partition updates.

    `version` is that of the node. `may_be_cut`: the segments may end anywhere. Raises
    `ToolFailedError` if the reader complains.
    """
    segments = sorted(folder.glob("CommitLog-*.log.gz"))
    keystore = folder / KEYSTORE
    dump = dump_segments(
        segments,
        folder / "schema.cql",
        keystore=keystore if keystore.exists() else None,
        tolerate_truncation=may_be_cut,
        version=reader_of(version),
    )
    if dump.errors and not may_be_cut:
        raise ToolFailedError(f"Cassandra's reader on {folder}:\n" + "\n".join(dump.errors))
    lines = dump.ndjson.splitlines()
    if not lines or not json.loads(lines[0]):
        raise ToolFailedError(f"{folder} holds no update of any table in its schema.")
    write_packed(folder / "dump.ndjson.gz", dump.ndjson)
    return len(lines)
