"""One run of all cases on a real node, while the peer reads the segments."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from tests.oracle.debezium.case import Chapter
from tests.oracle.debezium.cases import CASES, FIRST_SCHEMA, MARKS, RUNS
from tests.oracle.debezium.failures import failures
from tests.oracle.debezium.recording import (
    CLUSTER,
    TOPIC_PREFIX,
    CaseRecord,
    Recording,
    Sent,
    by_case,
    case_starts,
)
from tests.support.record.folder import new_folder, user_schema, write_dump, write_segments
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.debezium import DebeziumPeer
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

Progress = Callable[[str], None]
"""Receives the current step."""
_READ_DEADLINE_S = 900


@dataclass(frozen=True, slots=True)
class _Servers:
    node: CassandraNode
    broker: KafkaBroker
    peer: DebeziumPeer
    kept: Path
    is_live: bool
    progress: Progress
    health: list[str]
    """Health that the peer reported at the end of each run that it survived."""


def run(folder: Path, scratch: Path, *, live: bool, progress: Progress) -> Recording:
    """Write all cases, let the peer read them, store everything in `folder`. `live`: the peer reads
    while the node writes. Otherwise it starts when the segments are complete, and sends no event
    twice."""
    settings = NodeSettings(cluster_name=CLUSTER, commitlog_sync_period_ms=500)
    kept = new_folder(scratch / "kept")
    with (
        CassandraNode(scratch / "node", settings=settings) as node,
        KafkaBroker(scratch / "kafka") as broker,
    ):
        node.create_filler()
        for statement in FIRST_SCHEMA:
            node.execute(statement)
        peer = DebeziumPeer(node, broker, scratch / "debezium", topic_prefix=TOPIC_PREFIX)
        servers = _Servers(node, broker, peer, kept, live, progress, [])
        number = 0
        for chapters in RUNS:
            number = _run_chapters(servers, chapters, number)
        _mark(node, number)
        _close(servers)
        new_folder(folder)
        (folder / "schema.cql").write_text(user_schema(node), encoding="utf-8")
        sent = [
            Sent(record.topic, json.loads(record.key or b"null"), json.loads(record.value or b""))
            for record in broker.consume_all()
        ]
    progress("Cassandra's own reader")
    write_segments(folder, _written(kept, live))
    write_dump(folder, may_be_cut=live)
    starts = case_starts(folder)
    logs = failures(peer.log_file, node.directory, starts)
    logs[len(CASES) - 1] = [f"GET /health: {servers.health[-1]}"]
    found = by_case(sorted(sent, key=lambda event: event.position), starts)
    recording = Recording(
        folder,
        tuple(
            CaseRecord(case.name, case.statements, found[at], tuple(logs.get(at, ())))
            for at, case in enumerate(CASES)
        ),
    )
    recording.save()
    return recording


def _run_chapters(servers: _Servers, chapters: Sequence[Chapter], first: int) -> int:
    """Returns the number of the next case."""
    servers.progress("making tables and topics")
    for chapter in chapters:
        for statement in chapter.schema:
            servers.node.execute(statement)
    _create_topics(servers)
    if servers.is_live:
        servers.peer.start()
    number = first
    for chapter in chapters:
        for case in chapter.cases:
            servers.progress(case.name)
            if case.loses != "nothing":
                _close(servers)
            _mark(servers.node, number)
            for statement in case.statements:
                servers.node.execute(statement)
            _keep(servers)
            number += 1
    _close(servers)
    if not servers.is_live:
        servers.peer.start()
    servers.progress("Debezium reads")
    if any(case.loses == "process" for chapter in chapters for case in chapter.cases):
        _wait(lambda: not servers.peer.is_running, "the peer to end")
        servers.peer.start()
        _wait(lambda: not servers.peer.is_running, "the peer to end again")
        _clear(servers.node)
    else:
        _wait(lambda: _is_read(servers), "the peer to read all segments")
        servers.health.append(peer_health(servers.peer))
        servers.peer.kill()
    return number


def _wait(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, what, deadline_s=_READ_DEADLINE_S)


def _is_read(servers: _Servers) -> bool:
    """The peer moves a segment away as soon as its events are flushed to the broker."""
    if not servers.peer.is_running:
        complaints = "\n".join(servers.peer.complaints()[-5:])
        raise ServerFailedError(
            f"The peer ended in a case that is not known to do so.\n{complaints}"
        )
    return not any(segment.is_completed for segment in servers.node.cdc_segments())


def peer_health(peer: DebeziumPeer) -> str:
    """Health that the connector reports, in one line."""
    with urlopen(f"http://127.0.0.1:{peer.http_port}/health", timeout=60) as answer:
        return " ".join(answer.read().decode().split())


def _clear(node: CassandraNode) -> None:
    """Remove the files of a peer that has ended."""
    for path in node.cdc_raw.glob("*_cdc.idx"):
        path.with_name(path.name.replace("_cdc.idx", ".log")).unlink(missing_ok=True)
        path.unlink()


def _create_topics(servers: _Servers) -> None:
    there = servers.broker.topics()
    rows = servers.node.execute("SELECT keyspace_name, table_name FROM system_schema.tables")
    for row in rows:
        topic = f"{TOPIC_PREFIX}.{row.keyspace_name}.{row.table_name}"
        if row.keyspace_name.startswith("peer") and topic not in there:
            servers.broker.create_topic(topic)


def _mark(node: CassandraNode, number: int) -> None:
    node.execute(f"INSERT INTO {MARKS} (n) VALUES ({number})")


def _close(servers: _Servers) -> None:
    _keep(servers)
    servers.node.close_segment()
    _keep(servers)


def _keep(servers: _Servers) -> None:
    """Add a link to each segment and its index, because the peer deletes those in `cdc_raw`."""
    for path in sorted(servers.node.cdc_raw.iterdir()):
        target = servers.kept / path.name
        if not target.exists():
            try:
                target.hardlink_to(path)
            except FileNotFoundError:
                continue


def _written(kept: Path, is_live: bool) -> list[Path]:
    """The segments with CDC data: those with an index. A peer that reads live may have taken that
    away before it was kept, so then all that there are."""
    if is_live:
        return sorted(kept.glob("CommitLog-*.log"))
    return [path.with_name(f"{path.stem[:-4]}.log") for path in sorted(kept.glob("*_cdc.idx"))]
