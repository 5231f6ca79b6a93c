"""Offsets of snapshots, as frozen values.

The entries of `snapshot_progress.properties`, by table id:

    5a1c….table=shop.orders
    5a1c….state=copying
    5a1c….started_us=1795277827259158
    5a1c….rows=81920
    5a1c….range.-9223372036854775808.3074457345618258602=-12
    5a1c….range.3074457345618258602.9223372036854775807=3074457345618258602

The value of a range is its offset: the token up to which all rows are acknowledged. The range is
complete at its end. A completed snapshot has no ranges.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from agent.config.loader import SNAPSHOT_FILE
from agent.snapshot.ring import TokenRange
from sidecar.errors import OffsetStoreError

_NODE_ID = "node.id"


class State(Enum):
    COPYING = "copying"
    COMPLETED = "completed"
    STOPPED = "stopped"
    """Stopped by the operator; only an explicit start restarts it."""
    REFUSED = "refused"
    """The node rejects the table; an explicit start retries."""


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    table_id: str
    table: str
    """`keyspace.table`."""
    started_us: int
    state: State = State.COPYING
    offsets: Mapping[TokenRange, int] = field(default_factory=lambda: MappingProxyType({}))
    """For each range, the token up to which all rows are acknowledged."""
    rows: int = 0
    """Number of rows read, including repeats."""
    reason: str = ""
    """Why the node rejected the table."""

    @property
    def ratio(self) -> float:
        """Completed part of the tokens, from 0 to 1."""
        if self.state is State.COMPLETED:
            return 1.0
        size = sum(each.size for each in self.offsets)
        done = sum(token - each.after for each, token in self.offsets.items())
        return done / size if size else 0.0

    def advanced(self, token_range: TokenRange, token: int) -> "TableSnapshot":
        """Moves the offset of a range forward; completes the snapshot at its last token."""
        if self.state is not State.COPYING or token <= self.offsets.get(token_range, token):
            return self
        offsets = MappingProxyType({**self.offsets, token_range: token})
        if all(token >= each.to for each, token in offsets.items()):
            return replace(self, state=State.COMPLETED, offsets=MappingProxyType({}))
        return replace(self, offsets=offsets)


@dataclass(frozen=True, slots=True)
class SnapshotOffsets:
    """The snapshots of one node by table id, in the order of their start."""

    node_id: str
    tables: Mapping[str, TableSnapshot] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def states(self) -> dict[tuple[str, int], State]:
        """The state of each snapshot, by table id and start."""
        tables = self.tables.values()
        return {(table.table_id, table.started_us): table.state for table in tables}

    def with_table(self, table: TableSnapshot) -> "SnapshotOffsets":
        if self.tables.get(table.table_id) == table:
            return self
        return replace(self, tables=MappingProxyType({**self.tables, table.table_id: table}))

    def without(self, table_ids: Iterable[str]) -> "SnapshotOffsets":
        removed = frozenset(table_ids) & self.tables.keys()
        if not removed:
            return self
        left = {each: table for each, table in self.tables.items() if each not in removed}
        return replace(self, tables=MappingProxyType(left))

    def to_entries(self) -> dict[str, str]:
        entries = {_NODE_ID: self.node_id}
        for table_id, table in self.tables.items():
            entries |= {
                f"{table_id}.table": table.table,
                f"{table_id}.state": table.state.value,
                f"{table_id}.started_us": str(table.started_us),
                f"{table_id}.rows": str(table.rows),
            }
            if table.reason:
                entries[f"{table_id}.reason"] = table.reason
            for each, token in table.offsets.items():
                entries[f"{table_id}.range.{each.after}.{each.to}"] = str(token)
        return entries


def new_table_snapshot(
    table_id: str, table: str, ranges: Iterable[TokenRange], started_us: int
) -> TableSnapshot:
    """Creates a snapshot at its start; completed if there are no ranges."""
    offsets = {each: each.after for each in ranges}
    state = State.COPYING if offsets else State.COMPLETED
    return TableSnapshot(table_id, table, started_us, state, MappingProxyType(offsets))


def snapshot_offsets_from_entries(entries: Mapping[str, str], node_id: str) -> SnapshotOffsets:
    """Parses the entries of the file; empty if they belong to a different node with other ranges.
    Raises OffsetStoreError for invalid entries."""
    if entries.get(_NODE_ID, node_id) != node_id:
        return SnapshotOffsets(node_id)
    by_table: dict[str, dict[str, str]] = {}
    for key, value in entries.items():
        table_id, dot, name = key.partition(".")
        if key != _NODE_ID and dot:
            by_table.setdefault(table_id, {})[name] = value
    try:
        tables = [_table(table_id, values) for table_id, values in by_table.items()]
    except (KeyError, ValueError) as error:
        raise OffsetStoreError(
            f"{SNAPSHOT_FILE} in offset.backing.store.dir is invalid ({error}). Restore it from a "
            "copy, or move it away to copy every table again."
        ) from error
    tables.sort(key=lambda table: (table.started_us, table.table))
    return SnapshotOffsets(node_id, MappingProxyType({each.table_id: each for each in tables}))


def _table(table_id: str, values: Mapping[str, str]) -> TableSnapshot:
    offsets = {}
    for name, token in values.items():
        if name.startswith("range."):
            _, after, to = name.split(".")
            offsets[TokenRange(int(after), int(to))] = int(token)
    return TableSnapshot(
        table_id,
        values["table"],
        int(values["started_us"]),
        State(values["state"]),
        MappingProxyType(offsets),
        int(values["rows"]),
        values.get("reason", ""),
    )
