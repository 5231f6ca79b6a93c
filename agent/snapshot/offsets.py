"""How far the copies of tables are, as it survives a crash. Pure.

What `snapshot_progress.properties` holds, by the id of the table:

    5a1c….table=shop.orders
    5a1c….state=copying
    5a1c….started_us=1795277827259158
    5a1c….rows=81920
    5a1c….range.-9223372036854775808.3074457345618258602=-12
    5a1c….range.3074457345618258602.9223372036854775807=3074457345618258602

A range has the token up to which everything is acknowledged; it is done when that is its end. Of a
copy that is completed no ranges are kept.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from agent.snapshot.ring import TokenRange
from sidecar.errors import OffsetStoreError

FILE = "snapshot_progress.properties"
"""The file in `offset.backing.store.dir`."""
_NODE_ID = "node.id"


class State(Enum):
    """Where the copy of a table stands."""

    COPYING = "copying"
    COMPLETED = "completed"
    STOPPED = "stopped"
    """Somebody stopped it; nothing begins it again but who starts it."""
    REFUSED = "refused"
    """The table cannot be copied; a start tries again."""


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The copy of one table."""

    table_id: str
    table: str
    """`keyspace.table`."""
    started_us: int
    state: State = State.COPYING
    reached: Mapping[TokenRange, int] = field(default_factory=lambda: MappingProxyType({}))
    """For each range the token up to which everything is acknowledged."""
    rows: int = 0
    """Rows that were read, repeats included."""
    reason: str = ""
    """Why it was refused."""

    @property
    def ratio(self) -> float:
        """The part of the tokens that is done, from 0 to 1."""
        if self.state is State.COMPLETED:
            return 1.0
        size = sum(each.size for each in self.reached)
        done = sum(reached - each.after for each, reached in self.reached.items())
        return done / size if size else 0.0

    def advanced(self, ranged: TokenRange, token: int) -> "TableSnapshot":
        """Everything of a range is acknowledged up to a token; completed when that was the last."""
        if self.state is not State.COPYING or token <= self.reached.get(ranged, token):
            return self
        reached = MappingProxyType({**self.reached, ranged: token})
        if all(token >= each.to for each, token in reached.items()):
            return replace(self, state=State.COMPLETED, reached=MappingProxyType({}))
        return replace(self, reached=reached)


@dataclass(frozen=True, slots=True)
class SnapshotOffsets:
    """The copies of one node, by the id of the table, in the order in which they began."""

    node_id: str
    copies: Mapping[str, TableSnapshot] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def states(self) -> dict[tuple[str, int], State]:
        """The state of each copy that was begun."""
        copies = self.copies.values()
        return {(copy.table_id, copy.started_us): copy.state for copy in copies}

    def with_copy(self, copy: TableSnapshot) -> "SnapshotOffsets":
        if self.copies.get(copy.table_id) == copy:
            return self
        return replace(self, copies=MappingProxyType({**self.copies, copy.table_id: copy}))

    def without(self, table_ids: Iterable[str]) -> "SnapshotOffsets":
        """Forgets copies."""
        gone = frozenset(table_ids) & self.copies.keys()
        if not gone:
            return self
        left = {name: copy for name, copy in self.copies.items() if name not in gone}
        return replace(self, copies=MappingProxyType(left))

    def to_entries(self) -> dict[str, str]:
        """The entries of the file."""
        entries = {_NODE_ID: self.node_id}
        for table_id, copy in self.copies.items():
            entries |= {
                f"{table_id}.table": copy.table,
                f"{table_id}.state": copy.state.value,
                f"{table_id}.started_us": str(copy.started_us),
                f"{table_id}.rows": str(copy.rows),
            }
            if copy.reason:
                entries[f"{table_id}.reason"] = copy.reason
            for each, token in copy.reached.items():
                entries[f"{table_id}.range.{each.after}.{each.to}"] = str(token)
        return entries


def begun(
    table_id: str, table: str, ranges: Iterable[TokenRange], started_us: int
) -> TableSnapshot:
    """A copy that begins; one without ranges is completed."""
    reached = {each: each.after for each in ranges}
    state = State.COPYING if reached else State.COMPLETED
    return TableSnapshot(table_id, table, started_us, state, MappingProxyType(reached))


def snapshot_offsets_from_entries(entries: Mapping[str, str], node_id: str) -> SnapshotOffsets:
    """The progress of a file; none when it is of another node, whose ranges are others.

    Raises OffsetStoreError for what is no progress of snapshots.
    """
    if entries.get(_NODE_ID, node_id) != node_id:
        return SnapshotOffsets(node_id)
    by_table: dict[str, dict[str, str]] = {}
    for key, value in entries.items():
        table_id, dot, name = key.partition(".")
        if key != _NODE_ID and dot:
            by_table.setdefault(table_id, {})[name] = value
    try:
        copies = [_copy(table_id, values) for table_id, values in by_table.items()]
    except (KeyError, ValueError) as error:
        raise OffsetStoreError(
            f"{FILE} in offset.backing.store.dir cannot be understood ({error}). Put a good copy "
            "back, or move it away to copy every table again."
        ) from error
    copies.sort(key=lambda copy: (copy.started_us, copy.table))
    return SnapshotOffsets(node_id, MappingProxyType({copy.table_id: copy for copy in copies}))


def _copy(table_id: str, values: Mapping[str, str]) -> TableSnapshot:
    reached = {}
    for name, token in values.items():
        if name.startswith("range."):
            _, after, to = name.split(".")
            reached[TokenRange(int(after), int(to))] = int(token)
    return TableSnapshot(
        table_id,
        values["table"],
        int(values["started_us"]),
        State(values["state"]),
        MappingProxyType(reached),
        int(values["rows"]),
        values.get("reason", ""),
    )
