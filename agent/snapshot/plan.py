"""Which tables a node copies. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from agent.snapshot.offsets import SnapshotOffsets

SnapshotMode = Literal["initial", "always", "never"]


@dataclass(frozen=True, slots=True)
class NodeTable:
    """A table of the node as `system_schema.tables` has it."""

    table_id: str
    keyspace: str
    name: str
    is_published: bool
    """`cdc = true`, and let through by the lists of tables."""
    is_counter: bool

    @property
    def full_name(self) -> str:
        return f"{self.keyspace}.{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a look at the tables of the node asks for."""

    begin: tuple[NodeTable, ...] = ()
    forget: tuple[str, ...] = ()
    """Ids of tables that are gone or not published any more: published again, they are copied
    again."""
    counters: int = 0
    """Published tables that are not copied, since they hold counters."""


def plan(
    tables: Iterable[NodeTable],
    progress: SnapshotOffsets,
    mode: SnapshotMode,
    *,
    is_first_look: bool,
) -> Plan:
    """`initial` begins copies at the first look, `always` at each one."""
    published = {each.table_id: each for each in tables if each.is_published}
    may_begin = mode == "always" or (mode == "initial" and is_first_look)
    return Plan(
        begin=tuple(_new(published.values(), progress)) if may_begin else (),
        forget=tuple(each for each in progress.copies if each not in published),
        counters=sum(each.is_counter for each in published.values()),
    )


def _new(published: Iterable[NodeTable], progress: SnapshotOffsets) -> Iterator[NodeTable]:
    by_name = sorted(published, key=lambda each: each.full_name)
    return (
        each for each in by_name if not each.is_counter and each.table_id not in progress.copies
    )
