"""The offset of each segment: a position, or COMPLETED. Pure.

The offsets file has these entries. Completed segments stay in it after they have left `cdc_raw`,
because the node links them again when it replays its log after a crash.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from agent.cdc_raw.names import SegmentName, parse_log_name
from sidecar.errors import ConfigError, OffsetStoreError

NODE_ID_KEY = "node.id"
COMPLETED = "COMPLETED"

# The node can replay at most `commitlog_total_space`: 8 GiB or 256 segments by default.
REMEMBERED_SEGMENTS = 1000


@dataclass(frozen=True, slots=True)
class SegmentOffsets:
    """Acknowledged offsets of the segments of one node."""

    node_id: str
    positions: Mapping[SegmentName, int] = field(default_factory=lambda: MappingProxyType({}))
    """Logical positions of partly acknowledged segments."""
    completed: frozenset[SegmentName] = frozenset()

    def position(self, name: SegmentName) -> int:
        """The acknowledged position; 0 for a new or completed segment."""
        return self.positions.get(name, 0)

    def is_completed(self, name: SegmentName) -> bool:
        return name in self.completed

    def advanced(self, name: SegmentName, position: int) -> "SegmentOffsets":
        """Moves a position forward; never back, and never of a completed segment."""
        if name in self.completed or position <= self.positions.get(name, 0):
            return self
        return replace(self, positions=MappingProxyType({**self.positions, name: position}))

    def finished(self, name: SegmentName) -> "SegmentOffsets":
        return replace(
            self,
            positions=MappingProxyType({n: p for n, p in self.positions.items() if n != name}),
            completed=self.completed | {name},
        )

    def forgotten(self, name: SegmentName) -> "SegmentOffsets":
        """Removes a segment."""
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
        """Removes the oldest segments that are not `present`, beyond `limit`."""
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
        return {
            NODE_ID_KEY: self.node_id,
            **{name.log: str(position) for name, position in self.positions.items()},
            **{name.log: COMPLETED for name in self.completed},
        }


def offsets_from_entries(entries: Mapping[str, str], node_id: str) -> SegmentOffsets:
    """Parses the entries of the offsets file; empty without entries.

    Raises ConfigError when they belong to another node, OffsetStoreError when they are invalid.
    """
    if not entries:
        return SegmentOffsets(node_id)
    stored = entries.get(NODE_ID_KEY)
    if stored != node_id:
        raise ConfigError(
            f"The stored offsets belong to the node {stored or '(unnamed)'}; this node is "
            f"{node_id}. If the node was replaced, run `agent offsets reset --snapshots` with this "
            "configuration and restart the agent. If both nodes exist, set another "
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
                f"The stored offsets have the entry `{key}={value}`, which is neither a position "
                "in a segment nor COMPLETED. Restore the offset files from a copy, or move them "
                "away to start with the oldest segment."
            )
        if value == COMPLETED:
            completed.add(name)
        else:
            positions[name] = int(value)
    return SegmentOffsets(node_id, MappingProxyType(positions), frozenset(completed))
