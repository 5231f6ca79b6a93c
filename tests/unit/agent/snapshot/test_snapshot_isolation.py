"""A fault of one table never stops the snapshots of other tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pytest
from cassandra import (
    ConsistencyLevel,
    InvalidRequest,
    OperationTimedOut,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
)
from cassandra.cluster import NoHostAvailable
from cassandra.protocol import ErrorMessage, SyntaxException

from agent.config.capture import SnapshotProperties
from agent.node.connection import NodeAddress
from agent.snapshot.connection import Page, PageConnection
from agent.snapshot.errors import (
    REASONS,
    MaskedTableError,
    PostponedTableError,
    TableReadError,
    read_failure,
)
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot
from agent.snapshot.plan import NodeTable
from agent.snapshot.ring import Ring
from agent.snapshot.snapshot import Snapshot
from commitlog import EventFormat, MalformedValueError, Schema, SchemaError, SnapshotEncoder
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from tests.support.node.fake_snapshot_node import (
    PAGES,
    FakeNode,
    PendingPage,
    acknowledge,
    component,
)
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.heavy

NAMES = ("a", "b", "c")
IDS = {name: f"5a1c0000-0000-1000-8000-00000000000{name}" for name in NAMES}
SCHEMA = Schema.from_cql(
    "".join(
        f"CREATE TABLE ks.{name} (k int PRIMARY KEY, v int) WITH ID = {IDS[name]} AND cdc = true;"
        for name in NAMES
    )
)
FORMAT = EventFormat(topic_prefix="x", cluster="lab", node_id="n")


def failed_read(*codes: int) -> ReadFailure:
    return ReadFailure(
        "failed",
        consistency=ConsistencyLevel.ALL,
        required_responses=1,
        received_responses=0,
        failures=1,
        error_code_map={f"10.0.0.{each}": code for each, code in enumerate(codes)} or None,
    )


def timed_out() -> ReadTimeout:
    return ReadTimeout(
        "late", consistency=ConsistencyLevel.ALL, required_responses=1, received_responses=0
    )


def unavailable() -> Unavailable:
    return Unavailable(
        "down", consistency=ConsistencyLevel.ALL, required_replicas=1, alive_replicas=0
    )


@dataclass(frozen=True)
class Row:
    """`error` is the driver's error for a page of the table."""

    error: Exception
    reason: str
    is_aside: bool = False
    """Whether the table's snapshot is rejected until an operator restarts it."""


LASTING = {code for code, reason in REASONS.items() if reason.is_lasting}
ROWS = {
    **{
        f"code {code}": Row(failed_read(code), f"{reason.name} (code {code})", code in LASTING)
        for code, reason in REASONS.items()
    },
    "new code": Row(failed_read(77), "code 77", is_aside=True),
    "no code": Row(failed_read(), "reports no reason", is_aside=True),
    "rejected": Row(InvalidRequest("Undefined column name v"), "Undefined column", is_aside=True),
    "syntax": Row(SyntaxException(0x2000, "line 1", None), "line 1", is_aside=True),
    "read timeout": Row(timed_out(), "0 of 1 replicas answered"),
    "replicas down": Row(unavailable(), "0 of 1 replicas are up"),
    "no right": Row(Unauthorized("no SELECT permission"), "no SELECT permission"),
    "request timeout": Row(OperationTimedOut(), "the request timed out"),
    "server error": Row(
        NoHostAvailable("none", {"h": ErrorMessage(0, "java.lang.AssertionError", None)}),
        "AssertionError",
    ),
    "masked": Row(MaskedTableError("GRANT UNMASK"), "GRANT UNMASK", is_aside=True),
    "registry": Row(PostponedTableError("the registry rejects it"), "the registry rejects it"),
    "registry away": Row(UnavailableError("the registry is away"), "the registry is away"),
    "registry denied": Row(AccessDeniedError("the registry denies"), "the registry denies"),
    "bad value": Row(MalformedValueError("too few bytes"), "too few bytes"),
    "bad schema": Row(SchemaError("no such type"), "no such type"),
    "driver error": Row(ZeroDivisionError("by nought"), "by nought"),
    "any error": Row(ZeroDivisionError("by nought"), "ZeroDivisionError: by nought"),
}
OF_ENCODER = ("masked", "registry", "registry away", "registry denied", "bad schema", "any error")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FIRST_PAUSE_S", "_REJECTED_PAUSE_S"):
        monkeypatch.setattr(f"agent.snapshot.snapshot.{name}", 0.001)
    monkeypatch.setattr("agent.snapshot.snapshot._LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr("agent.snapshot.table_faults._FINAL_S", 0.001)


class Encoders:
    """`error` is raised for these tables."""

    error: ClassVar[Exception | None] = None
    tables: ClassVar[tuple[str, ...]] = ("ks.b",)

    def encoder(
        self, table: TableSnapshot, *, element_times: bool, was_rejected: bool
    ) -> SnapshotEncoder:
        if self.error is not None and table.table in self.tables:
            raise self.error
        return SnapshotEncoder(
            SCHEMA, table.table_id, FORMAT, element_times=element_times, started_us=table.started_us
        )


@dataclass
class Node(FakeNode):
    """A node with three tables; `error` is the driver's error for pages of b."""

    error: ClassVar[Exception | None] = None
    ring_error: ClassVar[Exception | None] = None
    answered: dict[str, int] = field(default_factory=dict)
    """Pages by table: a new statement begins after the last page."""

    def ask(self, cql: str, consistency: str, rows: int, next_page: bytes | None) -> PendingPage:
        page = super().ask(cql, consistency, rows, next_page)
        table = next(name for name in NAMES if f'"ks"."{name}"' in cql)
        number = page.number
        if next_page is None:
            number = min(self.answered.get(table, 0), PAGES - 1)
        return PageOfTable(self, number, table)

    def ring(self) -> Ring:
        if self.ring_error is not None:
            raise self.ring_error
        return super().ring()


@dataclass
class PageOfTable(PendingPage):
    table: str

    def result(self) -> Page:
        if Node.error is not None and self.table == "b":
            address = NodeAddress(("127.0.0.1",), 9042)
            raise PageConnection(address, lambda *_: True).page_error(Node.error) from Node.error
        assert isinstance(self.node, Node)
        self.node.answered[self.table] = self.number + 1
        return super().result()


@dataclass
class Site:
    snapshot: Snapshot
    node: Node
    encoders: Encoders

    def state(self, name: str) -> State | None:
        while (ready := self.snapshot.peek()) is not None:
            self.snapshot.take()
            acknowledge(self.snapshot, ready)
        table = self.snapshot.offsets.tables.get(IDS[name])
        return None if table is None else table.state

    def others_are_copied(self) -> bool:
        return self.state("a") is self.state("c") is State.COMPLETED


@pytest.fixture
def site() -> Iterator[Callable[[], Site]]:
    node = Node(known=[NodeTable(IDS[name], "ks", name, True, False) for name in NAMES])
    encoders = Encoders()
    snapshot = Snapshot(
        SnapshotProperties(snapshot_scan_interval_ms=50),
        cast(Any, node),
        cast(Any, encoders),
        SnapshotOffsets("n"),
        page_bytes=1000,
        on_ready=lambda: None,
        postponed_s=0.05,
    )

    def start() -> Site:
        snapshot.start()
        return Site(snapshot, node, encoders)

    yield start
    Encoders.error = Node.error = Node.ring_error = None
    Encoders.tables = ("ks.b",)
    snapshot.close()


def fail(name: str) -> None:
    if name in OF_ENCODER:
        Encoders.error = ROWS[name].error
    else:
        Node.error = ROWS[name].error


@pytest.mark.parametrize("name", ROWS)
def test_failing_table_does_not_stop_other_snapshots(name: str, site: Callable[[], Site]) -> None:
    row = ROWS[name]
    fail(name)
    place = site()
    wait_until(place.others_are_copied, "the other tables")
    if row.is_aside:
        wait_until(lambda: place.state("b") is State.REFUSED, "the table to be set aside")
        shown = component(place.snapshot).message
        assert "ks.b cannot be copied: " in shown
        assert "`agent snapshot start ks.b`" in shown
        assert row.reason in place.snapshot.offsets.tables[IDS["b"]].reason
        Encoders.error = Node.error = None
        place.snapshot.start_table("ks.b")
    else:
        wait_until(lambda: row.reason in place.snapshot.error, "the reason")
        assert "ks.b" in place.snapshot.error
        assert place.state("b") is State.COPYING
        Encoders.error = Node.error = None
    wait_until(lambda: place.state("b") is State.COMPLETED, "the table")
    wait_until(lambda: component(place.snapshot).ok, "the end of the condition")


@pytest.mark.parametrize(
    "error", [UnavailableError("no answer"), AccessDeniedError("no login"), ConfigError("no ring")]
)
def test_node_fault_is_reported_instead_of_table_fault(
    error: Exception, site: Callable[[], Site]
) -> None:
    """The query after a failed read shows that the node, and not the table, is the reason."""
    Node.error = OperationTimedOut()
    place = site()
    wait_until(place.others_are_copied, "the other tables")
    Node.ring_error = error
    wait_until(lambda: str(error) in place.snapshot.error, "the reason")
    assert "ks.b" not in place.snapshot.error
    assert place.state("b") is State.COPYING
    Node.error = Node.ring_error = None
    wait_until(lambda: place.state("b") is State.COMPLETED, "the table")


def test_stopping_snapshot_clears_the_error(site: Callable[[], Site]) -> None:
    fail("registry")
    place = site()
    wait_until(place.others_are_copied, "the other tables")
    wait_until(lambda: bool(place.snapshot.error), "the reason")
    place.snapshot.stop_table("ks.b")
    wait_until(lambda: not place.snapshot.error, "no reason")


def test_all_snapshots_wait_for_unavailable_registry(site: Callable[[], Site]) -> None:
    fail("registry away")
    Encoders.tables = tuple(f"ks.{name}" for name in NAMES)
    place = site()
    wait_until(lambda: "the registry is away" in place.snapshot.error, "the reason")
    assert place.snapshot.peek() is None
    Encoders.error = None
    wait_until(place.others_are_copied, "two tables")
    wait_until(lambda: place.state("b") is State.COMPLETED, "the last table")


def test_table_failing_to_start_stops_no_other_snapshot(
    site: Callable[[], Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keyspace dropped during the scan causes this; the table starts at a later scan."""
    failing = [True]
    whole = Snapshot.begin

    def begun(snapshot: Snapshot, table: NodeTable) -> None:
        if table.name == "b" and failing[0]:
            raise UnavailableError("the keyspace ks does not exist.")
        whole(snapshot, table)

    monkeypatch.setattr(Snapshot, "begin", begun)
    place = site()
    wait_until(place.others_are_copied, "the other tables")
    wait_until(lambda: "ks.b waits: the keyspace" in place.snapshot.error, "the reason")
    failing[0] = False
    wait_until(lambda: place.state("b") is State.COMPLETED, "the table")
    wait_until(lambda: not place.snapshot.error, "the end of the reason")


def test_read_failure_message_lists_codes_and_replicas() -> None:
    error = read_failure(failed_read(1, 1, 2))
    assert isinstance(error, TableReadError)
    assert error.is_lasting
    assert str(error) == (
        "1 of 1 replicas failed: READ_TOO_MANY_TOMBSTONES (code 1) at 10.0.0.0, 10.0.0.1; "
        "TIMEOUT (code 2) at 10.0.0.2. Compact the table after gc_grace_seconds, or raise "
        "tombstone_failure_threshold. See the logs of these nodes."
    )
