"""The thread that copies, over a node that a test holds in its hand."""

import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from agent.snapshot.errors import RefusedTableError, ReplicasMissingError
from agent.snapshot.offsets import Copy, Progress, State
from agent.snapshot.page import Page
from agent.snapshot.plan import NodeTable
from agent.snapshot.ring import Ring, RingNode
from agent.snapshot.snapshot import Ready, Snapshot, SnapshotSettings
from agent.snapshot.status import (
    snapshot_component,
    snapshot_conditions,
    snapshot_document,
    snapshot_facts,
)
from commitlog import EventFormat, Schema, SnapshotEncoder
from sidecar.errors import ConfigError, UnavailableError
from sidecar.status import Component, status_of
from tests.support.servers.processes import wait_until

TABLE_ID = "5a1c0000-0000-1000-8000-000000000001"
SCHEMA = Schema.from_cql(
    f"CREATE TABLE ks.t (k int PRIMARY KEY, v int) WITH ID = {TABLE_ID} AND cdc = true;"
)
FORMAT = EventFormat(topic_prefix="x", cluster="lab", node_id="n")
PAGES = 5


@dataclass
class FakeNode:
    """Five pages of one row each, unless it has an error to give."""

    errors: list[Exception] = field(default_factory=list)
    asked: list[bytes | None] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    looks: int = 0
    known: list[NodeTable] = field(
        default_factory=lambda: [NodeTable(TABLE_ID, "ks", "t", True, False)]
    )

    def ask(self, cql: str, consistency: str, rows: int, next_page: bytes | None) -> "Asked":
        self.asked.append(next_page)
        return Asked(self, int(next_page or b"0"))

    def ring(self) -> Ring:
        return Ring("a", (RingNode("a", "dc", (0,)),), (5, 0))

    def tables(self) -> list[NodeTable]:
        self.looks += 1
        return self.known

    def replication(self, keyspace: str) -> Mapping[str, str]:
        return {"class": "SimpleStrategy", "replication_factor": "1"}

    def silent_peers(self) -> list[str]:
        return self.silent

    def close(self) -> None:
        pass


@dataclass
class Asked:
    node: FakeNode
    number: int

    def result(self) -> Page:
        if self.node.errors:
            raise self.node.errors.pop(0)
        cells = [struct.pack(">i", self.number), None, None, None]
        parts = [b"\xff" * 4 if c is None else struct.pack(">i", len(c)) + c for c in cells]
        after = self.number + 1
        next_page = str(after).encode() if after < PAGES else None
        return Page(struct.pack(">i", 1) + b"".join(parts), next_page, 1_795_000_000_000_000)


class Encoders:
    def __init__(self) -> None:
        self.refusals = 0

    def encoder(
        self, copy: Copy, *, element_times: bool, is_refused: bool
    ) -> SnapshotEncoder | None:
        self.refusals += is_refused
        return SnapshotEncoder(
            SCHEMA,
            copy.table_id,
            FORMAT,
            element_times=element_times,
            started_us=copy.started_us,
        )


@contextmanager
def running(
    node: FakeNode,
    *,
    mode: str = "initial",
    progress: Progress | None = None,
    scan_interval_ms: int = 50,
) -> Iterator[Snapshot]:
    snapshot = Snapshot(
        SnapshotSettings(
            mode=mode,  # type: ignore[arg-type]  # a test says which
            consistency="ALL",
            scan_interval_ms=scan_interval_ms,
            rows_per_second=None,
            copies_whole_ring=False,
            page_bytes=1000,
        ),
        node,
        Encoders(),
        progress or Progress("n"),
        on_ready=lambda: None,
    )
    snapshot.start()
    try:
        yield snapshot
    finally:
        snapshot.close()


def taken(snapshot: Snapshot) -> Ready:
    """The next page, as the pipeline takes it."""
    wait_until(lambda: snapshot.peek() is not None, "a page")
    ready = snapshot.peek()
    assert ready is not None
    snapshot.take()
    return ready


def acknowledge(snapshot: Snapshot, ready: Ready) -> None:
    snapshot.acknowledge(ready.source, ready.batch.position_after(len(ready.batch)))


def component(snapshot: Snapshot) -> Component:
    """As `/health` shows it."""
    return snapshot_component(status_of(snapshot_conditions(snapshot_facts(snapshot))), snapshot)


def state(snapshot: Snapshot) -> State | None:
    copy = snapshot.progress.copies.get(TABLE_ID)
    return None if copy is None else copy.state


def test_a_table_is_complete_when_all_of_it_is_acknowledged() -> None:
    with running(FakeNode()) as snapshot:
        pages = [taken(snapshot) for _ in range(PAGES)]
        for ready in pages[:-1]:
            acknowledge(snapshot, ready)
        assert state(snapshot) is State.COPYING
        acknowledge(snapshot, pages[-1])
        assert state(snapshot) is State.COMPLETED
        assert "'percent': 100.0" in str(snapshot_document(snapshot)["tables"])


def test_nothing_is_read_ahead_while_nobody_takes_it() -> None:
    """As while the broker is away: two pages wait, one is read, and one is asked for."""
    node = FakeNode()
    with running(node) as snapshot:
        wait_until(lambda: len(node.asked) == 4, "the pages ahead")
        taken(snapshot)
        wait_until(lambda: len(node.asked) == PAGES, "one page more")


def test_what_was_not_acknowledged_is_read_again() -> None:
    node = FakeNode()
    with running(node) as snapshot:
        first = taken(snapshot)
        acknowledge(snapshot, first)
        taken(snapshot)
        snapshot.start_again()
        for _ in range(PAGES):
            acknowledge(snapshot, taken(snapshot))
        assert state(snapshot) is State.COMPLETED
        assert node.asked.count(None) == 2


def test_a_copy_that_is_begun_again_hears_nothing_of_its_older_pages() -> None:
    with running(FakeNode()) as snapshot:
        old = [taken(snapshot) for _ in range(PAGES)]
        assert "begins" in snapshot.begin("ks.t")
        for ready in old:
            acknowledge(snapshot, ready)
        assert state(snapshot) is State.COPYING
        for _ in range(PAGES):
            acknowledge(snapshot, taken(snapshot))
        assert state(snapshot) is State.COMPLETED


def test_the_node_that_does_not_answer_is_named() -> None:
    missing = ReplicasMissingError("2 of 3 replicas are up")
    node = FakeNode(errors=[missing], silent=["10.0.0.3"])
    with running(node) as snapshot:
        wait_until(lambda: bool(snapshot.trouble), "the trouble")
        assert "snapshot.consistency=ALL" in snapshot.trouble
        assert "10.0.0.3 does not answer" in snapshot.trouble
        assert not component(snapshot).ok
        assert len(taken(snapshot).batch) == 1
        wait_until(lambda: not snapshot.trouble, "the end of it")


@pytest.mark.parametrize("times", [1, 3])
def test_a_statement_that_is_not_taken_is_tried_with_a_newer_schema(times: int) -> None:
    node = FakeNode(errors=[RefusedTableError("Undefined column name v")] * times)
    with running(node) as snapshot:
        assert len(taken(snapshot).batch) == 1


def test_a_table_that_is_refused_for_seconds_is_given_up() -> None:
    node = FakeNode(errors=[RefusedTableError("Undefined column name v")] * 10_000)
    with running(node) as snapshot:
        wait_until(lambda: state(snapshot) is State.REFUSED, "the refusal")
        shown = component(snapshot)
        assert not shown.ok
        assert "ks.t cannot be copied: Undefined column name v. " in shown.sentence
        assert "agent snapshot stop --table ks.t" in shown.sentence
        snapshot.stop("ks.t")
        assert state(snapshot) is State.STOPPED
        assert component(snapshot).ok


def test_a_table_that_is_dropped_while_it_is_copied_is_forgotten_at_once() -> None:
    node = FakeNode()
    with running(node, scan_interval_ms=3_600_000) as snapshot:
        wait_until(lambda: len(node.asked) == 4, "the pages ahead")
        node.known.clear()
        node.errors += [RefusedTableError("table t does not exist")] * PAGES
        while snapshot.peek() is not None:
            snapshot.take()
        wait_until(lambda: state(snapshot) is None, "it to be forgotten")
        assert component(snapshot).ok


def test_a_node_that_is_away_is_waited_for() -> None:
    node = FakeNode(errors=[UnavailableError("Cassandra does not answer.")])
    with running(node) as snapshot:
        assert len(taken(snapshot).batch) == 1


def test_an_unexpected_fault_is_said_and_the_copy_goes_on() -> None:
    node = FakeNode(errors=[RuntimeError("too few bytes")])
    with running(node) as snapshot:
        wait_until(lambda: "RuntimeError: too few bytes" in snapshot.trouble, "the trouble")
        assert not component(snapshot).ok
        assert len(taken(snapshot).batch) == 1
        wait_until(lambda: not snapshot.trouble, "the end of it")


def test_never_asks_for_nothing_but_on_request() -> None:
    node = FakeNode()
    with running(node, mode="never") as snapshot:
        snapshot.begin("ks.t")
        for _ in range(PAGES):
            acknowledge(snapshot, taken(snapshot))
        assert state(snapshot) is State.COMPLETED
        with pytest.raises(ConfigError, match="No snapshot"):
            snapshot.stop("ks.t")


@pytest.mark.parametrize("mode", ["initial", "always"])
def test_what_was_copied_before_a_restart_is_not_copied_again(mode: str) -> None:
    node = FakeNode()
    done = Progress("n").with_copy(Copy(TABLE_ID, "ks.t", 1, State.COMPLETED))
    with running(node, mode=mode, progress=done) as snapshot:
        wait_until(lambda: node.looks > 2, "the third look")
        assert state(snapshot) is State.COMPLETED
        assert node.asked == []


def test_a_table_that_is_gone_is_forgotten_and_found_again() -> None:
    node = FakeNode()
    with running(node, mode="always") as snapshot:
        for _ in range(PAGES):
            acknowledge(snapshot, taken(snapshot))
        table = node.known.pop()
        wait_until(lambda: state(snapshot) is None, "it to be forgotten")
        node.known.append(table)
        wait_until(lambda: state(snapshot) is State.COPYING, "it to be copied again")


def test_a_stop_ends_a_thread_that_waits_for_room() -> None:
    node = FakeNode()
    before = threading.active_count()
    with running(node):
        wait_until(lambda: len(node.asked) == 4, "the pages ahead")
    assert threading.active_count() == before
