"""The choice of tables, and the parts in which tables are copied."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent.snapshot.offsets import SnapshotOffsets
from agent.snapshot.ring import TokenRange
from commitlog import EventBatch


@dataclass(frozen=True, slots=True)
class NodeTable:
    """A row of `system_schema.tables`."""

    table_id: str
    keyspace: str
    name: str
    is_published: bool
    """`cdc = true`, and included by the table lists."""
    is_counter: bool

    @property
    def full_name(self) -> str:
        return f"{self.keyspace}.{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Snapshots to start and to forget after a scan."""

    begin: tuple[NodeTable, ...] = ()
    forget: tuple[str, ...] = ()
    """Ids of tables that were dropped or are no longer published. If published again, they are
    copied again."""
    counter_tables: int = 0
    """Number of published counter tables, which are not copied."""


def plan(
    tables: Iterable[NodeTable],
    offsets: SnapshotOffsets,
    mode: Literal["initial", "always", "never"],
    *,
    is_first_scan: bool,
) -> Plan:
    """Plans after a scan. `initial` starts snapshots at the first scan, `always` at each scan."""
    published = {each.table_id: each for each in tables if each.is_published}
    may_begin = mode == "always" or (mode == "initial" and is_first_scan)
    new = [
        each for key, each in published.items() if not each.is_counter and key not in offsets.tables
    ]
    return Plan(
        begin=tuple(sorted(new, key=lambda each: each.full_name)) if may_begin else (),
        forget=tuple(each for each in offsets.tables if each not in published),
        counter_tables=sum(each.is_counter for each in published.values()),
    )


@dataclass(frozen=True, slots=True)
class SnapshotPartition:
    """A token range of a table: the source of a batch, whose positions are tokens."""

    table_id: str
    table: str
    range: TokenRange
    started_us: int
    """Start of the snapshot. Batches of an earlier start are ignored."""

    @property
    def log(self) -> str:
        """Prefix of the name of its dead-letter file."""
        return f"snapshot-{self.table}"

    def __str__(self) -> str:
        return f"snapshot of {self.table}"


@dataclass(frozen=True, slots=True)
class EncodedPage:
    source: SnapshotPartition
    batch: EventBatch
    start: int
    """Position before the first event."""
