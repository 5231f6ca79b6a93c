"""One real node and one agent with a file sink, which archives each segment for the judge."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

from cassandra import InvalidRequest
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import ServerError

from tests.acceptance.faults.node_judge import (
    Arrived,
    Epoch,
    arrivals,
    contradictions,
    expected_contents,
)
from tests.acceptance.faults.situation import Outcome, outcome_of
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode, segment_id
from tests.support.servers.cassandra_settings import NodeSettings

SETTINGS = NodeSettings(commitlog_sync_period_ms=200, heap_mib=640)
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
_WRITES_AT_ONCE = 32


class NodeHarness:
    """`directory` contains the agent's directories; the node may serve several harnesses in turn.
    The agent ends with the block. `epochs` contains the node's schema after each change, with the
    time of its first use."""

    def __init__(
        self, node: CassandraNode, directory: Path, settings: Mapping[str, object] | None = None
    ) -> None:
        self.node = node
        self.directory = directory
        self.archive = directory / "relocation" / "archive"
        self.quarantine = directory / "relocation" / "error"
        self.offsets = directory / "offsets"
        self.events = directory / "events.ndjson"
        self._witness = directory / "witness"
        for folder in (self.archive, self.offsets, self._witness):
            folder.mkdir(parents=True)
        self.epochs: list[Epoch] = []
        properties = {
            "topic.prefix": "faults",
            "cassandra.config": node.yaml,
            "sink": "file",
            "file.path": self.events,
            "commit.log.relocation.dir": directory / "relocation",
            "commit.log.transfer.class": "archive",
            "offset.backing.store.dir": self.offsets,
            "offset.flush.interval.ms": 0,
            # The log, which is the judge, lacks existing rows.
            "snapshot.mode": "never",
            **(settings or {}),
        }
        self.agent = AgentProcess("agent", directory / "agent", properties)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.agent.end()

    def start_agent(self, *overrides: str) -> None:
        """Start the agent and wait until it answers."""
        self.agent.launch(*overrides)
        self.agent.wait_until(lambda: self.agent.ask("/health") is not None, "HTTP")

    def health(self) -> dict[str, Any]:
        """The answer of `/health`."""
        answer = self.agent.ask("/health")
        assert answer is not None, self.agent.log_tail()
        return answer

    def codes(self) -> set[str]:
        """Codes of the current conditions."""
        return {condition["code"] for condition in self.health()["conditions"]}

    def wait_for_status(self, status: str, *codes: str) -> None:
        """Wait until `/health` has this status and exactly these conditions."""

        def is_reported() -> bool:
            answer = self.agent.ask("/health")
            if answer is None:
                return False
            found = {condition["code"] for condition in answer["conditions"]}
            return answer["status"] == status and found == set(codes)

        self.wait_for(is_reported, f"/health to report {status} {codes}")

    def is_live(self) -> bool:
        """Whether `/live` answers 200, so that no orchestrator restarts the agent."""
        with urllib.request.urlopen(f"{self.agent.url}/live") as answer:
            return bool(answer.status == 200)

    def change(self, *statements: str) -> None:
        """Execute schema changes; from now on the judge uses the new schema."""
        for statement in statements:
            self.node.execute(statement)
        self.note_schema()

    def note_schema(self) -> None:
        """Give the judge the node's current schema."""
        self.epochs.append(Epoch(time.time_ns() // 1000, self.node.describe_schema()))

    def insert(self, table: str, rows: Iterable[tuple[Any, ...]], columns: str) -> None:
        """Insert rows, several at a time; returns when all are answered."""
        marks = ", ".join("?" for _ in columns.split(","))
        insert = self.node.session().prepare(f"INSERT INTO {table} ({columns}) VALUES ({marks})")
        execute_concurrent_with_args(
            self.node.session(), insert, list(rows), concurrency=_WRITES_AT_ONCE
        )

    def arrived(self) -> list[Arrived]:
        return arrivals(self.events)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait while the agent runs."""
        self.agent.wait_until(condition, what)

    def wait_for_events(self, count: int) -> None:
        """Wait until this number of lines has arrived."""
        self.wait_for(lambda: len(self.arrived()) >= count, f"{count} events")

    def witness(self) -> None:
        """Copy the node's commit log, which keeps all segments until their tables are flushed; the
        node may have deleted some from `cdc_raw`."""
        for path in self.node.commitlog.glob("CommitLog-*.log"):
            shutil.copyfile(path, self._witness / path.name)

    def drain(self) -> None:
        """Close the node's segments and wait until the agent has finished all of them."""
        last_id = max(segment_id(path) for path in self.node.commitlog.glob("CommitLog-*.log"))
        self.node.close_segment()

        def is_finished() -> bool:
            return self._has_drained() and not any(
                each.segment_id <= last_id and each.index_offset is not None
                for each in self.node.cdc_segments()
            )

        self.wait_for(is_finished, "the agent to finish all segments")

    def outcome(self, *, by_time: bool = True) -> Outcome:
        """Compare the arrivals with Cassandra's reader. Call it after `drain`; `by_time` as in
        `expected_contents`."""
        found: dict[str, list[str]] = {}
        for folder in (self._witness, self.quarantine, self.archive):
            segments = sorted(folder.glob("CommitLog-*.log"))
            found |= expected_contents(segments, self.epochs, self.directory, by_time=by_time)
        arrived = self.arrived()
        assert contradictions(arrived) == []
        recorded = self._recorded_segments(found)
        on_record = [content for name in recorded for content in found.get(name, ())]
        expected = [content for contents in found.values() for content in contents]
        return outcome_of(expected, [each.content for each in arrived], on_record)

    def _recorded_segments(self, names: Iterable[str]) -> Iterator[str]:
        """Names of recorded segments, including those between two recorded names."""
        for segment, ranges in self.recorded().items():
            yield segment
            for lost in ranges:
                if found := re.search(
                    r"(?:between it and|unread before) (CommitLog-\S+\.log)", lost["cause"]
                ):
                    yield from (name for name in names if segment < name < found[1])

    def recorded(self) -> dict[str, list[dict[str, Any]]]:
        """Recorded ranges in the quarantine, by segment name."""
        paths = self.quarantine.glob("*.reason.json")
        reasons = [json.loads(path.read_text()) for path in paths]
        return {reason["segment"]: reason["ranges"] for reason in reasons}

    def run_command(self, *arguments: str) -> str:
        """Run an `agent` command with the harness's configuration; returns its output."""
        program = Path(sys.executable).with_name("agent")
        command = [str(program), *arguments, "--config", str(self.agent.configuration)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def metric(self, name: str) -> float:
        """Sum of a metric's samples."""
        lines = self.agent.get("/metrics").decode().splitlines()
        pattern = re.compile(rf"{name}(\{{[^}}]*\}})? (\S+)")
        return sum(float(found[2]) for line in lines if (found := pattern.fullmatch(line)))

    def log(self) -> str:
        return (self.directory / "agent" / "agent.log").read_text(errors="replace")

    def _has_drained(self) -> bool:
        health, offsets = self.agent.ask("/health"), self.agent.ask("/offsets")
        if health is None or offsets is None or "sink" not in health["components"]:
            return False
        return bool(
            health["components"]["sink"]["unacknowledged_events"] == 0
            and offsets["stored"] == offsets["reached"]
        )


@contextmanager
def writing(harness: NodeHarness, table: str) -> Iterator[None]:
    """Insert `id` into a table continuously. While the table is missing, the node rejects the
    writes."""
    stop = Event()
    session = harness.node.connect()

    def write() -> None:
        number = 1_000_000
        while not stop.is_set():
            number += 1
            # A write in progress during the drop fails in the node.
            with suppress(InvalidRequest, NoHostAvailable, ServerError):
                session.execute(f"INSERT INTO {table} (id) VALUES ({number})")

    writer = Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def make_captured_table(node: CassandraNode) -> None:
    """Create a permanent table, so that a dropped table is never the last captured one."""
    node.execute(f"CREATE KEYSPACE stays WITH replication = {REPLICATION}")
    node.execute("CREATE TABLE stays.t (id int PRIMARY KEY) WITH cdc = true")


def keyspace(harness: NodeHarness, name: str) -> str:
    """Create an empty keyspace and return its name."""
    harness.node.execute(f"CREATE KEYSPACE {name} WITH replication = {REPLICATION}")
    return name
