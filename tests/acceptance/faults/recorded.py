"""Recorded segments for the matrix, with the dumps of Cassandra's own reader."""

import gzip
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from agent.cdc_raw.names import SegmentName, parse_log_name
from agent.pipeline.reader import open_with
from agent.segments.state import ReadRequest
from commitlog import EventFormat, Schema
from tests.oracle.writer import MARKER_LENGTH, header, marker
from tests.support.events.expected_events import expected_events
from tests.support.record.plan import FIXTURES

Json = dict[str, Any]
_AGENT_ONLY = ("token", "ck", "lo", "hi")
WORKLOADS = ("batches", "collections", "timestamps", "deletions")


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """One segment of 5.0 with its schema, its dump and the id of the table that fills it."""

    name: SegmentName
    data: bytes
    idx: str
    schema: str
    lines: tuple[Json, ...]
    """Lines of tables with `cdc`, as Cassandra's reader prints them."""

    @property
    def captured(self) -> frozenset[str]:
        """Ids of the tables with events."""
        return frozenset(line["id"] for line in self.lines)

    def events(self, segment_id: int | None = None, copies: int = 1) -> Iterator[str]:
        """Identities of all events; `segment_id`: of the same content under another id; `copies`:
        as in `repeated`."""
        found = _positions_and_contents(self)
        length = self.chain_end() - self._header_length
        for copy in range(copies):
            for position, content in found:
                yield f"{segment_id or self.name.id}/{position + copy * length}/{content}"

    def repeated(self, segment_id: int, copies: int, size: int) -> bytes:
        """Segment of `size` bytes under this id, with all sections repeated `copies` times."""
        sections = self._sections()
        data = bytearray(self.data[: self._header_length])
        data[:] = header(self.name.version, segment_id, self._parameters)
        for section in sections * copies:
            at = len(data)
            data += marker(segment_id, at, at + MARKER_LENGTH + len(section)) + section
        assert len(data) + MARKER_LENGTH <= size
        return bytes(data) + bytes(size - len(data))

    def chain_end(self, copies: int = 1) -> int:
        """End of the last section; `copies`: as in `repeated`."""
        sections = self._sections()
        length = sum(map(len, sections)) + MARKER_LENGTH * len(sections)
        return self._header_length + copies * length

    def _sections(self) -> list[bytes]:
        """Records of each section, without its marker."""
        found = []
        at = self._header_length
        while at + MARKER_LENGTH <= len(self.data):
            end = int.from_bytes(self.data[at : at + 4], "big")
            if end <= at or end > len(self.data):
                break
            found.append(self.data[at + MARKER_LENGTH : end])
            at = end
        return found

    @property
    def _parameters(self) -> bytes:
        place = self.data.index(b"{")
        length = int.from_bytes(self.data[place - 2 : place], "big")
        return self.data[place : place + length]

    @property
    def _header_length(self) -> int:
        return len(header(self.name.version, self.name.id, self._parameters))


@cache
def recording(workload: str) -> Recording:
    """A recording of `tests/fixtures/5.0`."""
    folder = FIXTURES / "5.0" / workload
    (packed,) = folder.glob("*.log.gz")
    name = parse_log_name(packed.stem)
    assert name is not None
    data = gzip.decompress(packed.read_bytes())
    text = (folder / "schema.cql").read_text()
    published = {table.id for table in Schema.from_cql(text).tables() if table.cdc}
    with gzip.open(folder / "dump.ndjson.gz", "rt") as lines:
        found = tuple(line for line in map(json.loads, lines) if line["id"] in published)
    return Recording(
        name, data, (folder / name.idx).read_text(), text + _filler(name, packed, text), found
    )


def schema_of(recordings: Iterable[Recording]) -> str:
    return "\n".join(each.schema for each in recordings)


def events_of(dump: bytes, tables: Collection[str]) -> list[str]:
    """Identities of the events of these tables (by id) in a dump by Cassandra's reader
    (`tests.support.servers.java_reader`)."""
    found = []
    for line in map(json.loads, dump.splitlines()):
        name = parse_log_name(line["segment"])
        assert name is not None
        for event in expected_events(line) if line["id"] in tables else ():
            found.append(f"{name.id}/{event.position}/{_content(event.op, event.cells)}")
    return found


def arrived(file: Path) -> list[str]:
    """Identities of the events that a file sink has written, in order; torn lines are ignored."""
    if not file.exists():
        return []
    with file.open("rb") as lines:
        return [_arrived(json.loads(line)) for line in lines if line.endswith(b"\n")]


def _arrived(line: Json) -> str:
    segment_id, position, _ = line["headers"]["cdc.source"].rsplit("/", 3)[1:]
    value = line["value"]
    return f"{segment_id}/{position}/{_content(value['op'], value['cells'])}"


@cache
def _positions_and_contents(found: Recording) -> tuple[tuple[int, str], ...]:
    events = (event for line in found.lines for event in expected_events(line))
    return tuple((event.position, _content(event.op, event.cells)) for event in events)


def plain(cells: Mapping[str, Any]) -> Json:
    """Members of cells that Cassandra's reader prints, in one order."""
    found = {name: content for name, content in cells.items() if name not in _AGENT_ONLY}
    for member in found.keys() & {"cell", "cdel"}:
        each = [{k: v for k, v in one.items() if k != "key"} for one in found[member]]
        found[member] = sorted(each, key=lambda one: (one["col"], one.get("path") or ""))
    return found


def _content(op: str, cells: Mapping[str, Any]) -> str:
    """Operation and a digest of the event's content."""
    content = json.dumps(plain(cells), sort_keys=True).encode()
    return f"{op}/{blake2b(content, digest_size=12).hexdigest()}"


def _filler(name: SegmentName, packed: Path, text: str) -> str:
    """Recorded schemas omit the table that fills segments: without `cdc` it is known and yields
    nothing."""
    event_format = EventFormat(topic_prefix="x", cluster="x", node_id="x")
    schema = Schema.from_cql(text)
    with NamedTemporaryFile() as file:
        # A reader accepts only files.
        file.write(gzip.decompress(packed.read_bytes()))
        file.flush()
        reader = open_with(event_format)(Path(file.name), name, 0)
        while True:
            order = ReadRequest(name, reader.position, limit=None, complete=True)
            batch = reader.read(schema, order, max_events=1 << 20, max_bytes=1 << 30)
            if batch.stop not in ("schema", "full"):
                break
    if batch.blocked is None:
        return ""
    keyspace = packed.parent.name.replace("-", "_")
    return (
        f"\nCREATE TABLE filler_{keyspace}.f (k int PRIMARY KEY, v blob) "
        f"WITH ID = {batch.blocked.table_id} AND cdc = false;\n"
    )
