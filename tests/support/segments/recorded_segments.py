"""Recorded segments put into a `cdc_raw`, and what arrives of them."""

import gzip
import os
import re
from pathlib import Path
from typing import Any

from agent.cdc_raw.names import SegmentName, parse_log_name
from agent.pipeline.reader import open_with
from agent.segments.state import ReadRequest
from commitlog import EventFormat, Schema
from sidecar.events import Message
from tests.oracle.reference import recordings
from tests.support.pipeline.fakes import WRITTEN_AT_S
from tests.support.pipeline.harness import MakeHarness, PipelineHarness

FORMAT = EventFormat(topic_prefix="demo", cluster="lab", node_id="node-1", all_tables=True)


def over_segments(make: MakeHarness, schema: str | Schema, **options: Any) -> PipelineHarness:
    """A harness over real segments; `schema` may be CQL."""
    settings = {
        "open_reader": open_with(FORMAT),
        "schema": Schema.from_cql(schema) if isinstance(schema, str) else schema,
        "window_max_events": 2000,
        "batch_max_events": 100,
        "quarantine_max_bytes": 100_000_000,
    }
    return make(**{**settings, **options})


def source(message: Message) -> str:
    """`segment id/position/index` of an event."""
    return dict(message[3])["cdc.source"].decode().partition("/")[2]


def arrived(harness: PipelineHarness) -> list[str]:
    """Where the events are from that the present sink took, in order."""
    return [source(message) for _, message in harness.sink.messages]


def put(directory: Path, name: SegmentName, content: bytes) -> Path:
    """Writes into the file that is there, as a node did some minutes ago."""
    path = directory / name.log
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(content)
        file.truncate()
    os.utime(path, (WRITTEN_AT_S, WRITTEN_AT_S))
    return path


def unpack(directory: Path, packed: Path) -> tuple[Path, SegmentName]:
    """Writes a recorded segment there; its path and name."""
    name = parse_log_name(packed.stem)
    assert name is not None
    return put(directory, name, gzip.decompress(packed.read_bytes())), name


def complete(harness: PipelineHarness, name: SegmentName) -> None:
    """The node completes a segment, as a replay does: with the length of the file."""
    (harness.raw.directory / name.idx).write_text("1048576\nCOMPLETED")


def put_recording(
    harness: PipelineHarness, folder: Path, schema: Schema
) -> tuple[list[Message], Schema]:
    """The segments of a recording into `cdc_raw`, completed; what `known_events` gives of all."""
    found: list[Message] = []
    for packed in packed_segments(folder):
        log, name = unpack(harness.raw.directory, packed)
        complete(harness, name)
        events, schema = known_events(log, name, schema)
        found += events
    return found, schema


def known_events(path: Path, name: SegmentName, schema: Schema) -> tuple[list[Message], Schema]:
    """Events of the tables that the schema and the segment itself know, as the reader alone gives
    them, each with the schema at its place; and the schema with what the segment says."""
    reader = open_with(FORMAT)(path, name, 0)
    found: list[Message] = []
    abandoned: list[tuple[str, str | None]] = []
    while True:
        batch = reader.read(
            schema,
            ReadRequest(name, reader.position, limit=None, complete=True),
            max_events=1 << 20,
            max_bytes=1 << 30,
            abandoned=abandoned,
        )
        found += batch.messages(0, len(batch))
        if batch.blocked is not None:
            abandoned.append((batch.blocked.table_id, batch.blocked.column))
        elif batch.schema_changes is not None:
            schema = schema.with_changes(batch.schema_changes)
        elif batch.stop == "end":
            return found, schema


def readable_folders() -> list[Path]:
    """Folders with whole segments, plain or LZ4, and their schema."""
    roots = (recordings.OWN, recordings.SHARED / "fixtures")
    folders = {path.parent for root in roots for path in root.rglob("schema.cql")}
    return sorted(
        folder
        for folder in folders
        if list(folder.glob("CommitLog-*.log.gz"))
        and not re.search(r"encrypted|snappy|deflate|zstd", folder.name)
    )


def packed_segments(folder: Path) -> list[Path]:
    """Segments in the order of their ids, which all have as many digits."""
    return sorted(folder.glob("CommitLog-*.log.gz"))
