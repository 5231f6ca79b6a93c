"""Directories for one agent: a schema file, synthetic segments, a configuration."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import UUID

from tests.oracle.writer import insert, mutation, segment, update
from tests.support.servers.cassandra import CassandraNode

TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
OTHER_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c19")
SCHEMA = f"""CREATE TABLE ks.t (
    k text,
    c int,
    v text,
    PRIMARY KEY (k, c)
) WITH ID = {TABLE_ID}
    AND cdc = true;
"""


def payload(clustering: int, value: bytes = b"x", table_id: UUID = TABLE_ID) -> bytes:
    """A mutation with one row of `ks.t`."""
    return mutation(update(table_id, insert(clustering, value)))


def write_segment(
    directory: Path,
    segment_id: int,
    sections: Iterable[Sequence[bytes]],
    idx: str | None = "completed",
) -> Path:
    """A segment and its index file: `completed`, an offset as text, or none."""
    path = directory / f"CommitLog-7-{segment_id}.log"
    data = segment(sections, 7, segment_id)
    path.write_bytes(data)
    if idx is not None:
        text = f"{len(data)}\nCOMPLETED\n" if idx == "completed" else f"{idx}\n"
        path.with_name(f"{path.stem}_cdc.idx").write_text(text)
    return path


class AgentDir:
    """`agent_dir.configuration()` writes a properties file for these directories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cdc_raw = folder / "cdc_raw"
        self.relocation = folder / "relocation"
        self.offsets = folder / "offsets"
        self.schema = folder / "schema.cql"
        self.events = folder / "events.ndjson"
        for directory in (self.cdc_raw, self.relocation, self.offsets):
            directory.mkdir()
        self.schema.write_text(SCHEMA)

    def settings(self) -> dict[str, str]:
        """A file sink, a schema file, HTTP on a free loopback port."""
        return {
            "topic.prefix": "demo",
            "sink": "file",
            "file.path": str(self.events),
            "schema.file": str(self.schema),
            "node.id": "node-1",
            "cluster.name": "lab",
            "cdc.raw.directory": str(self.cdc_raw),
            "commit.log.relocation.dir": str(self.relocation),
            "offset.backing.store.dir": str(self.offsets),
            "snapshot.mode": "never",
            "http.host": "127.0.0.1",
            "http.port": "0",
        }

    def copy_segments(self, node: CassandraNode) -> None:
        """Copies the completed segments of a real node."""
        for each in node.cdc_segments():
            if each.is_completed:
                index = each.path.with_name(f"{each.path.stem}_cdc.idx")
                for path in (each.path, index):
                    shutil.copyfile(path, self.cdc_raw / path.name)

    def beside(self, node: CassandraNode, changes: Mapping[str, str | None] | None = None) -> Path:
        """Writes the properties file of an agent that has all it can from the files of a node."""
        unset = dict.fromkeys(("schema.file", "node.id", "cluster.name", "cdc.raw.directory"))
        return self.configuration({**unset, "cassandra.config": str(node.yaml), **(changes or {})})

    def configuration(self, changes: Mapping[str, str | None] | None = None) -> Path:
        """Writes the properties file; None in `changes` leaves a property out."""
        settings: dict[str, str | None] = {**self.settings(), **(changes or {})}
        path = self.folder / "cdc.properties"
        path.write_text("".join(f"{k}={v}\n" for k, v in settings.items() if v is not None))
        return path
