"""Reading whole segments with the extension, in the forms that tests compare."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import commitlog
from tests.oracle.reference.recordings import KEYSTORE, Scenario, recorded_keys
from tests.oracle.reference.segment import read_bytes
from tests.support.segments.skipping_reader import SkippingReader

FORMAT = commitlog.EventFormat(topic_prefix="test", cluster="cluster", node_id="node")


@dataclass(frozen=True, slots=True)
class Dumped:
    """The dump of one segment."""

    lines: list[dict[str, Any]]
    gaps: list[commitlog.Gap]


def schema_of(scenario: Scenario) -> commitlog.Schema:
    """The schema in the folder of the segments."""
    return commitlog.Schema.from_cql((scenario.folder / "schema.cql").read_text(encoding="utf-8"))


def unpacked(path: Path, name: str, folder: Path) -> Path:
    """The segment as a plain file under its own name, with its keystore."""
    target = folder / name
    target.write_bytes(read_bytes(path))
    if (keystore := path.with_name(KEYSTORE)).exists():
        shutil.copyfile(keystore, folder / KEYSTORE)
    return target


def overwrite(path: Path, data: bytes | bytearray) -> None:
    """Makes these the bytes of a file that tests change again and again. It is not emptied before:
    file systems take that for a replacement, and wait for the disk."""
    if not path.exists():
        path.touch()
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def reader_of(
    path: Path, position: int = 0, keys: Mapping[str, bytes] | None = None
) -> commitlog.SegmentReader:
    """A reader with these keys, or with those in the folder of the segment."""
    known = recorded_keys(path.with_name(KEYSTORE)) if keys is None else dict(keys)
    return commitlog.SegmentReader(str(path), position=position, keys=known)


def dump(
    path: Path,
    schema: commitlog.Schema,
    *,
    position: int = 0,
    limit: int | None = None,
    complete: bool = True,
    max_bytes: int = 1 << 20,
    keys: Mapping[str, bytes] | None = None,
) -> Dumped:
    """The canonical dump of a file from `position` on."""
    reader = reader_of(path, position, keys)
    lines: list[dict[str, Any]] = []
    while chunk := reader.dump(schema, limit=limit, complete=complete, max_bytes=max_bytes):
        lines += [json.loads(line) for line in chunk.splitlines()]
    return Dumped(lines, reader.gaps)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as JSON values, with what the batch says of it."""

    topic: str
    key: dict[str, Any]
    value: dict[str, Any]
    headers: dict[str, str]

    @property
    def source(self) -> tuple[int, int]:
        """Position of the mutation and place in it."""
        position, index = self.headers["cdc.source"].split("/")[-2:]
        return int(position), int(index)


def events(
    path: Path,
    schema: commitlog.Schema,
    event_format: commitlog.EventFormat = FORMAT,
    *,
    position: int = 0,
    max_events: int = 1000,
) -> list[Event]:
    """All events of a complete segment; tables without a schema are passed over."""
    reader = SkippingReader(reader_of(path, position))
    found: list[Event] = []
    while True:
        batch, blocked = reader.read(schema, event_format, complete=True, max_events=max_events)
        assert blocked is None, blocked.reason
        for line in batch.ndjson(0, len(batch)).splitlines():
            found.append(Event(**json.loads(line)))
        if batch.stop == "end":
            return found
