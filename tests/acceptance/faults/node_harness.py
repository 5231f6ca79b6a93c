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
    """The agent's directories lie in `directory`; the node may serve several harnesses in turn. The
    agent ends with the block.

    `epochs` has the node's schema after each change, with the time from which it is used.
    """

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
            # Existing rows are not in the log, which is the judge.
            "snapshot.mode": "never",
            **(settings or {}),
        }
        self.agent = AgentProcess("agent", directory / "agent", properties)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.agent.end()

    def start_agent(self, *overrides: str) -> None:
        """Starts the agent and waits until it answers."""
        self.agent.launch(*overrides)
        self.agent.wait_until(lambda: self.agent.ask("/health") is not None, "HTTP")

    def health(self) -> dict[str, Any]:
        """The answer of `/health`."""
        answer = self.agent.ask("/health")
        assert answer is not None, self.agent.log_tail()
        return answer

    def codes(self) -> set[str]:
        """The codes of the present conditions."""
        return {condition["code"] for condition in self.health()["conditions"]}

    def wait_for_status(self, status: str, *codes: str) -> None:
        """Until `/health` has this status and exactly these conditions."""

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
        """Executes schema changes; the judge uses the new schema from here on."""
        for statement in statements:
            self.node.execute(statement)
        self.note_schema()

    def note_schema(self) -> None:
        """Gives the judge the schema that the node has now."""
        self.epochs.append(Epoch(time.time_ns() // 1000, self.node.describe_schema()))

    def insert(self, table: str, rows: Iterable[tuple[Any, ...]], columns: str) -> None:
        """Inserts rows, several at a time. All are answered on return."""
        marks = ", ".join("?" for _ in columns.split(","))
        insert = self.node.session().prepare(f"INSERT INTO {table} ({columns}) VALUES ({marks})")
        execute_concurrent_with_args(
            self.node.session(), insert, list(rows), concurrency=_WRITES_AT_ONCE
        )

    def arrived(self) -> list[Arrived]:
        return arrivals(self.events)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """While the agent runs."""
        self.agent.wait_until(condition, what)

    def wait_for_events(self, count: int) -> None:
        """Until so many lines arrived."""
        self.wait_for(lambda: len(self.arrived()) >= count, f"{count} events")

    def witness(self) -> None:
        """Copies the node's commit log, which has all segments until their tables are flushed; from
        `cdc_raw` the node may have deleted some."""
        for path in self.node.commitlog.glob("CommitLog-*.log"):
            shutil.copyfile(path, self._witness / path.name)

    def drain(self) -> None:
        """Closes the node's segments and waits until the agent has finished all of them."""
        last_id = max(segment_id(path) for path in self.node.commitlog.glob("CommitLog-*.log"))
        self.node.close_segment()

        def is_finished() -> bool:
            return self._has_drained() and not any(
                each.segment_id <= last_id and each.index_offset is not None
                for each in self.node.cdc_segments()
            )

        self.wait_for(is_finished, "the agent to finish all segments")

    def outcome(self, *, by_time: bool = True) -> Outcome:
        """Compares what arrived with Cassandra's reader. Call it after `drain`; `by_time` is as
        `expected_contents` takes it."""
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
        """Segments on record by name, and those between two that the record names."""
        for segment, ranges in self.recorded().items():
            yield segment
            for lost in ranges:
                if found := re.search(
                    r"(?:between it and|unread before) (CommitLog-\S+\.log)", lost["cause"]
                ):
                    yield from (name for name in names if segment < name < found[1])

    def recorded(self) -> dict[str, list[dict[str, Any]]]:
        """By segment name the ranges that the quarantine has on record."""
        paths = self.quarantine.glob("*.reason.json")
        reasons = [json.loads(path.read_text()) for path in paths]
        return {reason["segment"]: reason["ranges"] for reason in reasons}

    def run_command(self, *arguments: str) -> str:
        """An `agent` command with the harness's configuration; returns its output."""
        program = Path(sys.executable).with_name("agent")
        command = [str(program), *arguments, "--config", str(self.agent.configuration)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
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
    """Inserts `id` into a table all the time. While the table is missing the node refuses it."""
    stop = Event()
    session = harness.node.connect()

    def write() -> None:
        number = 1_000_000
        while not stop.is_set():
            number += 1
            # A write that is under way at the drop fails in the node.
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
    """A table that stays, so that a dropped one is not the last that is captured."""
    node.execute(f"CREATE KEYSPACE stays WITH replication = {REPLICATION}")
    node.execute("CREATE TABLE stays.t (id int PRIMARY KEY) WITH cdc = true")


def keyspace(harness: NodeHarness, name: str) -> str:
    """Makes an empty keyspace and returns its name."""
    harness.node.execute(f"CREATE KEYSPACE {name} WITH replication = {REPLICATION}")
    return name
