"""`make peer ARGS=--next-release`: both agents beside one node of the next release of Cassandra.

In each storage mode a node writes the same changes. Debezium's connector for Cassandra 5 reads the
node's `cdc_raw`, and cdc-sidecar a copy of it, because the connector removes what it has read.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.oracle.debezium.recording import FOLDER
from tests.oracle.debezium.run import Progress, peer_health
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.debezium import VERSION, DebeziumPeer
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until
from tests.support.workloads.scenario import create_keyspace

RELEASE = "6.0-alpha2"
PATH = FOLDER / "6.0.json"
MODES = ("CASSANDRA_4", "UPGRADING", "NONE")
_ROWS = 20
_TABLE = "next.t"
_PREFIX = "cass"
_DEADLINE_S = 600.0
_LONGEST_CAUSE = 200
_HEALTH = "cassandra-cdc-health-check"
_CAUSE = re.compile(r"Caused by: ([\w.$]+(?:Exception|Error): .*)")
_LEVEL = re.compile(r"(?:INFO|WARN|ERROR) ")

Change = tuple[str, int]
"""The operation by Debezium's letter, and the key."""


def _changes() -> Iterator[tuple[str, int, str]]:
    """Each change with its statement: one row is inserted, updated and deleted, another one lives
    for a day."""
    for row in range(_ROWS):
        yield "i", row, f"INSERT INTO {_TABLE} (id, v, n) VALUES ({row}, 'a', {row})"
        yield "u", row, f"UPDATE {_TABLE} SET v = 'b' WHERE id = {row}"
        yield "d", row, f"DELETE FROM {_TABLE} WHERE id = {row}"
        other = _ROWS + row
        yield "i", other, f"INSERT INTO {_TABLE} (id, v) VALUES ({other}, 'c') USING TTL 86400"


@dataclass(frozen=True, slots=True)
class ModeResult:
    """Arrived changes of one storage mode."""

    mode: str
    segment_version: int
    debezium: int
    cdc_sidecar: int
    repeated: int
    """Events of Debezium beyond the first of a change."""
    segments_left: int
    """Complete segments in `cdc_raw` after the connector."""
    is_healthy: bool
    """Health that the connector reports at the end."""
    cause: str
    """Cause of its first failed segment; empty without failures."""


@dataclass(frozen=True, slots=True)
class Results:
    """Content of the recorded file."""

    cassandra: str
    debezium: str
    changes: int
    modes: tuple[ModeResult, ...]

    @staticmethod
    def load() -> "Results":
        """Read the output of `save`."""
        stored = json.loads(PATH.read_text("utf-8"))
        modes = tuple(ModeResult(**each) for each in stored.pop("modes"))
        return Results(**stored, modes=modes)

    def save(self) -> None:
        """Write the results beside the recording."""
        PATH.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")


def run(scratch: Path, progress: Progress) -> Results:
    """Run every mode."""
    modes = tuple(_run_mode(scratch / mode, mode, progress) for mode in MODES)
    return Results(RELEASE, VERSION, len(_CHANGES), modes)


def _run_mode(scratch: Path, mode: str, progress: Progress) -> ModeResult:
    settings = NodeSettings(
        cluster_name="peer", commitlog_sync_period_ms=500, storage_compatibility_mode=mode
    )
    with (
        CassandraNode(scratch / "node", version=RELEASE, settings=settings) as node,
        KafkaBroker(scratch / "kafka") as broker,
    ):
        progress(f"{mode}: writing")
        node.create_filler()
        node.execute(create_keyspace("next"))
        node.execute(f"CREATE TABLE {_TABLE} (id int PRIMARY KEY, v text, n int) WITH cdc = true")
        topic = f"{_PREFIX}.{_TABLE}"
        broker.create_topic(topic)
        for _, _, statement in _CHANGES:
            node.execute(statement)
        node.close_segment()
        copy = scratch / "copy"
        shutil.copytree(node.cdc_raw, copy)
        progress(f"{mode}: Debezium")
        peer = DebeziumPeer(node, broker, scratch / "debezium", topic_prefix=_PREFIX)
        with peer:
            wait_until(lambda: not _complete(node), "the connector", deadline_s=_DEADLINE_S)
            is_healthy = bool(json.loads(peer_health(peer))[_HEALTH]["healthy"])
        theirs = [
            _change(json.loads(each.key or b""), json.loads(each.value or b""))
            for each in broker.consume_all(topic)
        ]
        progress(f"{mode}: cdc-sidecar")
        ours = _ours(node, copy, scratch)
        expected = {(op, row) for op, row, _ in _CHANGES}
        return ModeResult(
            mode=mode,
            segment_version=_segment_version(copy),
            debezium=len(expected & set(theirs)),
            cdc_sidecar=len(expected & set(ours)),
            repeated=len(theirs) - len(set(theirs)),
            segments_left=len(_complete(node)),
            is_healthy=is_healthy,
            cause=_cause(peer.log_file),
        )


def _complete(node: CassandraNode) -> list[Path]:
    return [segment.path for segment in node.cdc_segments() if segment.is_completed]


def _change(key: Any, value: Any) -> Change:
    return value["op"], key["id"]


def _ours(node: CassandraNode, copy: Path, scratch: Path) -> list[Change]:
    """Events of cdc-sidecar, which reads its schema from the node."""
    events, directory = scratch / "events.ndjson", scratch / "agent"
    expected = len(_CHANGES)
    for name in ("relocation", "offsets"):
        (directory / name).mkdir(parents=True)
    properties = {
        "topic.prefix": _PREFIX,
        "cassandra.hosts": node.address.host,
        "cassandra.port": node.address.cql_port,
        "cdc.raw.directory": copy,
        "commit.log.relocation.dir": directory / "relocation",
        "offset.backing.store.dir": directory / "offsets",
        "table.include.list": _TABLE,
        "snapshot.mode": "never",
        "sink": "file",
        "file.path": events,
    }
    agent = AgentProcess("agent", directory, properties)
    agent.launch()
    try:
        agent.wait_until(lambda: len(_lines(events)) >= expected, f"{expected} events", _DEADLINE_S)
        agent.stop()
    finally:
        agent.end()
    return [_change(event["key"], event["value"]) for event in map(json.loads, _lines(events))]


def _lines(events: Path) -> list[bytes]:
    return events.read_bytes().rpartition(b"\n")[0].splitlines() if events.exists() else []


def _segment_version(directory: Path) -> int:
    return max(int(path.name.split("-")[1]) for path in directory.glob("CommitLog-*.log"))


def _cause(log: Path) -> str:
    """Innermost cause of the first segment that the connector failed to read."""
    found = ""
    is_failed = False
    for line in log.read_text(errors="replace").splitlines():
        if "errored out" in line or "Error occurred while processing commit log" in line:
            is_failed = True
        elif is_failed and (cause := _CAUSE.match(line)):
            found = cause[1]
        elif found and _LEVEL.match(line):
            break
    return found[:_LONGEST_CAUSE]


_CHANGES = tuple(_changes())
