"""`agent run`: from segments to a file, until it stops."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import delivered, running
from tests.support.agents.running_agent import is_drained, values
from tests.support.record.plan import FIXTURES


def test_agent_delivers_segments_and_archives_them(agent_dir: AgentDir) -> None:
    for number in (1, 2, 3):
        write_segment(agent_dir.cdc_raw, number, [[payload(n, b"%d" % number) for n in range(50)]])
    node = agent_dir.folder / "cassandra.yaml"
    node.write_text(
        f"cdc_enabled: true\ncdc_raw_directory: {agent_dir.cdc_raw}\ncdc_total_space: 20GiB\n"
    )
    with running(agent_dir, {"cassandra.config": str(node)}) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        health = process.health()
        assert health is not None
        assert health.ok, health.messages
        assert process.stop() == 0
    assert values(agent_dir) == ["1"] * 50 + ["2"] * 50 + ["3"] * 50
    shown = agent("offsets", "show", "--json", "--config", agent_dir.configuration()).output
    assert set(json.loads(shown)["segments"].values()) == {"COMPLETED"}
    assert json.loads(shown)["node_id"] == "node-1"


def test_counter_shards_are_published_if_configured(agent_dir: AgentDir) -> None:
    """The agent derives the growth of a leader's shard from successive segments."""
    recording = FIXTURES / "5.0" / "counter-shards" / "node1"
    agent_dir.schema.write_text((recording / "schema.cql").read_text())
    (packed,) = recording.glob("*.log.gz")
    segment = gzip.decompress(packed.read_bytes())
    for changes, is_published in (({}, False), ({"counter.events": "shards"}, True)):
        path = agent_dir.cdc_raw / packed.stem
        path.write_bytes(segment)
        path.with_name(f"{path.stem}_cdc.idx").write_text(f"{len(segment)}\nCOMPLETED\n")
        offsets = agent_dir.folder / f"offsets-{is_published}"
        offsets.mkdir()
        # No schema contains the table that fills the recording's segments.
        settings = {"segment.blocked.timeout.ms": "0", "offset.backing.store.dir": str(offsets)}
        delivered(agent_dir, {**changes, **settings})
        lines = agent_dir.events.read_bytes().splitlines() if agent_dir.events.exists() else []
        shards = [
            shard
            for line in lines
            for column in json.loads(line)["value"]["after"].values()
            for shard in (column or {}).get("shards", ())
        ]
        assert bool(shards) == is_published
    assert any("delta" in shard for shard in shards)


def test_agent_stops_while_it_waits_for_the_node(agent_dir: AgentDir) -> None:
    changes = {"schema.file": None, "cassandra.hosts": "127.0.0.1", "cassandra.port": "1"}
    with running(agent_dir, changes) as process:
        process.wait_until("an answer", lambda: process.health() is not None)
        process.wait_until("the sentence", lambda: "does not answer" in str(process.health()))
        assert process.stop() == 0
    assert "Traceback" not in process.log_file.read_text()


def test_event_transform_changes_events_and_stops_on_errors(
    agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function masks values; its first error ends the delivery."""
    (agent_dir.folder / "rules.py").write_text(
        "def mask(event):\n"
        "    if b'\"bad\"' in event.value:\n"
        "        raise ValueError('what is this')\n"
        "    return event._replace(value=event.value.replace(b'\"a\"', b'\"*\"'))\n"
    )
    monkeypatch.syspath_prepend(agent_dir.folder)
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, b"b")]])
    settings = {"event.transform": "rules:mask", "event.cells": "false"}
    delivered(agent_dir, settings)
    assert values(agent_dir) == ["*", "b"]
    write_segment(agent_dir.cdc_raw, 2, [[payload(3, b"bad")]])
    outcome = agent("--config", agent_dir.configuration(settings))
    assert outcome.exit_code == 1
    assert "`event.transform` failed for an event of demo.ks.t: ValueError" in outcome.errors
    assert values(agent_dir) == ["*", "b"]
    assert not is_drained(agent_dir)


class Collector(BaseHTTPRequestHandler):
    """Receives spans by OTLP over HTTP."""

    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def test_traces_reach_a_collector(agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=collector.serve_forever)
    thread.start()
    endpoint = f"http://127.0.0.1:{collector.server_address[1]}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a")]])
    try:
        delivered(agent_dir, {"tracing.enabled": "true"})
    finally:
        collector.shutdown()
        collector.server_close()
        thread.join()
    told = b"".join(Collector.bodies)
    for word in (b"cdc-sidecar-cassandra", b"segment", b"batch", b"CommitLog-7-1.log"):
        assert word in told
    (line,) = agent_dir.events.read_bytes().splitlines()
    assert json.loads(line)["headers"]["traceparent"].startswith("00-")
