"""State files of the Cassandra agent: quarantine, dead letter, snapshot and offset in progress.

first segment     complete; the broker rejects one event, which becomes a dead letter
second segment    complete, with damage: quarantined
third segment     read up to `saved_at`, where the offset is; published up to `killed_at`
shop.orders       its snapshot has copied a part of the rows
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.sections import read_sections
from tests.support.record.folder import new_folder, pack, write_packed
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode, segment_id
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker

TOPIC = "shop.shop.orders"
TABLE_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
KEYSPACE = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
)
TABLE = (
    "CREATE TABLE shop.orders (id int, line int, note text, PRIMARY KEY (id, line)) "
    f"WITH ID = {TABLE_ID} AND cdc = true"
)
ROWS = 400
"""Rows in each of the three segments."""
LARGE_BYTES = 20_000
_DEADLINE_S = 300
_TO_FILE = {
    "snapshot.rows.per.second": 20,
    "watermark.topic": "shop.watermarks",
    "include.schema.changes": "true",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the release was stopped at."""

    version: str
    node_id: str
    segments: tuple[str, ...]
    saved_at: int
    """Offset in the last segment."""
    killed_at: int
    """End of the events that the release published from the last segment."""


def record_cassandra(program: Path, version: str, target: Path, scratch: Path) -> None:
    """Fill `target` with `cdc_raw`, `offsets`, `error`, `published.ndjson.gz`, `recorded.json`."""
    new_folder(target)
    raw = new_folder(scratch / "raw")
    settings = NodeSettings(commitlog_sync_period_ms=50)
    with (
        CassandraNode(scratch / "node", settings=settings) as node,
        KafkaBroker(scratch / "kafka", heap_mib=256) as broker,
    ):
        segments = _write(node)
        (target / "cdc_raw").mkdir()
        for segment in segments:
            pack(segment, target / "cdc_raw" / f"{segment.name}.gz")
        (target / "schema.cql").write_text(node.describe_schema())
        node_id = str(node.execute("SELECT host_id FROM system.local")[0].host_id)
        release = _Release(program, scratch, node, raw)
        published = release.reject_one(segments[0], broker)
        stopped_at, saved_at, killed_at = _section_ends(segments[2])
        release.quarantine_and_stop(segments[1], segments[2], stopped_at)
        release.publish_and_die(segments[2], saved_at, killed_at)
        published += release.published()
        recorded = Recorded(
            version, node_id, tuple(each.name for each in segments), saved_at, killed_at
        )
        (target / "recorded.json").write_text(json.dumps(asdict(recorded), indent=2) + "\n")
        lines = b"".join(orjson.dumps(each) + b"\n" for each in published)
        write_packed(target / "published.ndjson.gz", lines)
        release.keep(target)


def _write(node: CassandraNode) -> list[Path]:
    """Three segments with rows; the first one has a large row."""
    for statement in (KEYSPACE, TABLE):
        node.execute(statement)
    node.create_filler()
    insert = node.session().prepare("INSERT INTO shop.orders (id, line, note) VALUES (?, ?, ?)")
    segments: list[Path] = []
    for number in range(3):
        for line in range(ROWS):
            node.session().execute(insert, (line, number, f"order {number}, line {line}"))
        if number == 0:
            node.session().execute(insert, (ROWS, number, "x" * LARGE_BYTES))
        node.close_segment()
        known = {each.name for each in segments}
        complete = [each.path for each in node.cdc_segments() if each.is_completed]
        new = [each for each in complete if each.name not in known]
        segments.append(max(new, key=lambda each: b"shop" in each.read_bytes()))
    return segments


def _section_ends(segment: Path) -> tuple[int, int, int]:
    """Ends of three sections that divide the segment's rows into four parts."""
    data = segment.read_bytes()
    sections = list(read_sections(data, read_descriptor(data, segment.name)))
    used = [each for each in sections if b"line" in each.content]
    assert len(used) > 3, f"{segment}: {len(used)} sections with rows"
    first, second, third = (used[part * (len(used) - 1) // 4].end for part in (1, 2, 3))
    return first, second, third


class _Release:
    """The release over copies of the node's segments."""

    def __init__(self, program: Path, scratch: Path, node: CassandraNode, raw: Path) -> None:
        self._raw = raw
        self._directory = scratch / "release"
        self._node = node
        self._program = program
        self._events = self._directory / "events.ndjson"
        for name in ("offsets", "relocation"):
            (self._directory / name).mkdir(parents=True)

    def _agent(self, properties: Mapping[str, object]) -> AgentProcess:
        address = self._node.address
        return AgentProcess(
            str(self._program),
            self._directory,
            {
                "topic.prefix": "shop",
                "cassandra.hosts": address.host,
                "cassandra.port": address.cql_port,
                "cdc.raw.directory": self._raw,
                "offset.backing.store.dir": self._directory / "offsets",
                "commit.log.relocation.dir": self._directory / "relocation",
                "offset.flush.interval.ms": 0,
                "table.include.list": "shop.orders",
                "snapshot.mode": "never",
                "sink": "file",
                "file.path": self._events,
                **properties,
            },
        )

    def reject_one(self, segment: Path, broker: KafkaBroker) -> list[dict[str, Any]]:
        """Publishes a segment to Kafka, which allows events of half of `LARGE_BYTES`."""
        broker.create_topic(TOPIC)
        agent = self._agent(
            {
                "sink": "kafka",
                "kafka.producer.bootstrap.servers": broker.bootstrap,
                "kafka.producer.max.request.size": LARGE_BYTES // 2,
            }
        )
        copy = self._put(segment, segment.read_bytes(), "completed")
        agent.launch()
        agent.wait_until(lambda: not copy.exists(), "the first segment", _DEADLINE_S)
        agent.stop()
        assert list(self._error.glob("*.events.ndjson"))
        found = []
        for each in broker.consume_all():
            headers = dict(each.headers)
            texts = {
                "cdc.id": headers["cdc.id"].hex(),
                "cdc.source": headers["cdc.source"].decode(),
            }
            found.append(_named(orjson.loads(each.value or b"{}"), texts))
        return found

    def quarantine_and_stop(self, damaged: Path, last: Path, stopped_at: int) -> None:
        """Quarantines a segment, reads the last one to `stopped_at`, copies some rows."""
        data = bytearray(damaged.read_bytes())
        row = data.index(f"line {ROWS // 2}".encode())
        data[row : row + 8] = b"\xff" * 8
        copy = self._put(damaged, bytes(data), "completed")
        self._put(last, last.read_bytes(), f"{stopped_at}\n")
        agent = self._agent({**_TO_FILE, "snapshot.mode": "initial"})
        agent.launch()

        def is_reached() -> bool:
            offsets = self._text("segment_offset.properties")
            snapshot = self._text("snapshot_progress.properties")
            rows = [line for line in snapshot.splitlines() if ".rows=" in line]
            return (
                not copy.exists()
                and f"{last.name}={stopped_at}" in offsets
                and any(not line.endswith("=0") for line in rows)
            )

        agent.wait_until(is_reached, "the offset and the snapshot", _DEADLINE_S)
        agent.stop()
        assert "state=copying" in self._text("snapshot_progress.properties")

    def publish_and_die(self, last: Path, saved_at: int, killed_at: int) -> None:
        """Saves the offset `saved_at`, publishes up to `killed_at` and is killed."""
        agent = self._agent({**_TO_FILE, "offset.flush.interval.ms": 86_400_000})
        data = last.read_bytes()
        self._put(last, data, f"{saved_at}\n")
        agent.launch()
        agent.wait_until(
            lambda: f"{last.name}={saved_at}" in self._text("segment_offset.properties"),
            "the last offset",
            _DEADLINE_S,
        )
        count = self._count(last)
        self._put(last, data, f"{killed_at}\n")
        agent.wait_until(lambda: self._drained(agent, last, count), "the last events", _DEADLINE_S)
        agent.kill()

    def _count(self, segment: Path) -> int:
        """Published events of a segment."""
        number = f"/{segment_id(segment)}/"
        return sum(number in each["source"] for each in self.published())

    def _drained(self, agent: AgentProcess, segment: Path, count: int) -> bool:
        health = agent.ask("/health") or {}
        sink = health.get("components", {}).get("sink", {})
        return self._count(segment) > count and sink.get("unacknowledged_events") == 0

    def published(self) -> list[dict[str, Any]]:
        """The events in the file."""
        if not self._events.exists():
            return []
        whole = self._events.read_bytes().rpartition(b"\n")[0].splitlines()
        events = [orjson.loads(line) for line in whole]
        changes = (each for each in events if each["topic"] == TOPIC)
        return [_named(each["value"], each["headers"]) for each in changes]

    def keep(self, target: Path) -> None:
        """Copies offsets and quarantine, segments packed."""
        for name, source in (("offsets", self._directory / "offsets"), ("error", self._error)):
            (target / name).mkdir()
            for path in sorted(source.iterdir()):
                if path.suffix == ".log":
                    pack(path, target / name / f"{path.name}.gz")
                elif path.is_file() and not path.name.startswith(".") and path.suffix != ".ring":
                    shutil.copyfile(path, target / name / path.name)

    @property
    def _error(self) -> Path:
        return self._directory / "relocation" / "error"

    def _text(self, name: str) -> str:
        path = self._directory / "offsets" / name
        return path.read_text() if path.exists() else ""

    def _put(self, segment: Path, data: bytes, index: str) -> Path:
        """A segment of the release's `cdc_raw`, and then its index."""
        path = self._raw / segment.name
        path.write_bytes(data)
        text = f"{len(data)}\nCOMPLETED" if index == "completed" else index
        path.with_name(f"{path.stem}_cdc.idx").write_text(text)
        return path


def _named(value: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """Of an event its id, its origin, and whether it is of a snapshot."""
    return {
        "id": headers["cdc.id"],
        "source": headers["cdc.source"],
        "snapshot": value["source"]["snapshot"] == "true",
    }
