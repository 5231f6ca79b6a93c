"""A node that answers a snapshot's pages from memory."""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from agent.config.capture import SnapshotProperties
from agent.snapshot.connection import Page
from agent.snapshot.offsets import SnapshotOffsets, TableSnapshot
from agent.snapshot.plan import EncodedPage, NodeTable
from agent.snapshot.ring import Ring, RingNode
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import snapshot_component, snapshot_conditions, snapshot_facts
from commitlog import EventFormat, Schema, SnapshotEncoder
from commitlog.masking import MaskGuard
from sidecar.health.condition import Component, status_of

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
    """One for each of the next reads."""
    lasting_error: Exception | None = None
    """For each read until a test takes it away, so that the test cannot miss its effect."""
    asked: list[bytes | None] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    looks: int = 0
    masks: MaskGuard = field(default_factory=lambda: MaskGuard(lambda _: (), None))
    on_page: Callable[[int], None] = lambda _: None
    """Called with the number of each page before the node answers it."""
    known: list[NodeTable] = field(
        default_factory=lambda: [NodeTable(TABLE_ID, "ks", "t", True, False)]
    )

    def ask(self, cql: str, consistency: str, rows: int, next_page: bytes | None) -> "PendingPage":
        self.asked.append(next_page)
        return PendingPage(self, int(next_page or b"0"))

    def ring(self) -> Ring:
        return Ring("a", (RingNode("a", "dc", (0,)),), (5, 0))

    def tables(self) -> list[NodeTable]:
        self.looks += 1
        return self.known

    def replication(self, keyspace: str) -> Mapping[str, str]:
        return {"class": "SimpleStrategy", "replication_factor": "1"}

    def unreachable_peers(self) -> list[str]:
        return self.silent

    def close(self) -> None:
        pass


@dataclass
class PendingPage:
    node: FakeNode
    number: int

    def result(self) -> Page:
        self.node.on_page(self.number)
        if (lasting := self.node.lasting_error) is not None:
            raise lasting
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
        self, copy: TableSnapshot, *, element_times: bool, was_rejected: bool
    ) -> SnapshotEncoder | None:
        self.refusals += was_rejected
        return SnapshotEncoder(
            SCHEMA, copy.table_id, FORMAT, element_times=element_times, started_us=copy.started_us
        )


@contextmanager
def running(
    node: FakeNode,
    *,
    mode: str = "initial",
    progress: SnapshotOffsets | None = None,
    scan_interval_ms: int = 50,
) -> Iterator[Snapshot]:
    snapshot = Snapshot(
        SnapshotProperties(
            snapshot_mode=mode,  # type: ignore[arg-type]  # a test says which
            snapshot_scan_interval_ms=scan_interval_ms,
        ),
        cast(Any, node),
        cast(Any, Encoders()),
        progress or SnapshotOffsets("n"),
        page_bytes=1000,
        on_ready=lambda: None,
    )
    snapshot.start()
    try:
        yield snapshot
    finally:
        snapshot.close()


def acknowledge(snapshot: Snapshot, ready: EncodedPage) -> None:
    snapshot.acknowledge(ready.source, ready.batch.position_after(len(ready.batch)))


def component(snapshot: Snapshot) -> Component:
    """As `/health` shows it."""
    return snapshot_component(status_of(snapshot_conditions(snapshot_facts(snapshot))), snapshot)
