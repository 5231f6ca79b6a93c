"""How far each segment is acknowledged: a position, or COMPLETED. Pure.

This is what the offsets file holds. A finished segment is remembered after it has left `cdc_raw`,
because a replay after a crash of the node links it again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from agent.cdc_raw import SegmentName, parse_log_name
from sidecar.errors import ConfigError, OffsetStoreError

NODE_ID_KEY = "node.id"
COMPLETED = "COMPLETED"

# The node keeps at most `commitlog_total_space` of segments that it could replay, 8 GiB or 256
# segments by default.
REMEMBERED_SEGMENTS = 1000


@dataclass(frozen=True, slots=True)
class SegmentOffsets:
    """Acknowledged progress of the segments of one node."""

    node_id: str
    positions: Mapping[SegmentName, int] = field(default_factory=lambda: MappingProxyType({}))
    """Logical positions of segments that are begun."""
    completed: frozenset[SegmentName] = frozenset()

    def position(self, name: SegmentName) -> int:
        """Everything before it is acknowledged; 0 for a segment that is not begun or completed."""
        return self.positions.get(name, 0)

    def is_completed(self, name: SegmentName) -> bool:
        return name in self.completed

    def advanced(self, name: SegmentName, position: int) -> "SegmentOffsets":
        """A position never moves back, and a completed segment stays so."""
        if name in self.completed or position <= self.positions.get(name, 0):
            return self
        return replace(self, positions=MappingProxyType({**self.positions, name: position}))

    def finished(self, name: SegmentName) -> "SegmentOffsets":
        """The segment is acknowledged to its end."""
        return replace(
            self,
            positions=MappingProxyType({n: p for n, p in self.positions.items() if n != name}),
            completed=self.completed | {name},
        )

    def forgotten(self, name: SegmentName) -> "SegmentOffsets":
        """As if the segment had never been seen."""
        if name not in self.completed and name not in self.positions:
            return self
        return replace(
            self,
            positions=MappingProxyType({n: p for n, p in self.positions.items() if n != name}),
            completed=self.completed - {name},
        )

    def trimmed(
        self, present: Collection[SegmentName], limit: int = REMEMBERED_SEGMENTS
    ) -> "SegmentOffsets":
        """At most `limit` segments that are not `present`, the oldest forgotten first."""
        absent = sorted((self.completed | self.positions.keys()) - set(present))
        forgotten = frozenset(absent[: max(0, len(absent) - limit)])
        if not forgotten:
            return self
        return replace(
            self,
            positions=MappingProxyType(
                {n: p for n, p in self.positions.items() if n not in forgotten}
            ),
            completed=self.completed - forgotten,
        )

    def to_entries(self) -> dict[str, str]:
        """The entries of the offsets file."""
        return {
            NODE_ID_KEY: self.node_id,
            **{name.log: str(position) for name, position in self.positions.items()},
            **{name.log: COMPLETED for name in self.completed},
        }


def offsets_from_entries(entries: Mapping[str, str], node_id: str) -> SegmentOffsets:
    """The ledger of an offsets file; an empty one without entries.

    Raises ConfigError when they belong to another node, OffsetStoreError when they are no progress
    of segments.
    """
    if not entries:
        return SegmentOffsets(node_id)
    stored = entries.get(NODE_ID_KEY)
    if stored != node_id:
        raise ConfigError(
            f"The stored progress belongs to the node {stored or '(unnamed)'}, and this is "
            f"{node_id}. If the node was replaced, run `agent offsets reset --snapshots` with this "
            "configuration and start the agent again. If both nodes exist, set another "
            "offset.backing.store.dir for this one."
        )
    positions: dict[SegmentName, int] = {}
    completed: set[SegmentName] = set()
    for key, value in entries.items():
        if key == NODE_ID_KEY:
            continue
        name = parse_log_name(key)
        if name is None or not (value == COMPLETED or (value.isascii() and value.isdigit())):
            raise OffsetStoreError(
                f"The stored progress has the entry {key}={value}, which is neither a position in "
                "a segment nor COMPLETED. Put a good copy back, or move the offset files away to "
                "start from the oldest segment that is there."
            )
        if value == COMPLETED:
            completed.add(name)
        else:
            positions[name] = int(value)
    return SegmentOffsets(node_id, MappingProxyType(positions), frozenset(completed))
