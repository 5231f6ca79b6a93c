"""The offset of each segment: a position, or COMPLETED.

The offset file contains these entries. It keeps completed segments after they leave `cdc_raw`,
because the node links them again when it replays its log after a crash.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from agent.cdc_raw.names import SegmentName, by_age, parse_log_name
from sidecar.errors import ConfigError, OffsetStoreError

NODE_ID_KEY = "node.id"
COMPLETED = "COMPLETED"
FINGERPRINT = "#fingerprint."

# The node can replay at most `commitlog_total_space`: 8 GiB or 256 segments by default.
REMEMBERED_SEGMENTS = 1000


@dataclass(frozen=True, slots=True)
class SegmentOffsets:
    """Acknowledged offsets of the segments of one node."""

    node_id: str
    positions: Mapping[SegmentName, int] = field(default_factory=lambda: MappingProxyType({}))
    """Logical positions of partly acknowledged segments."""
    completed: frozenset[SegmentName] = frozenset()
    fingerprints: Mapping[SegmentName, int] = field(default_factory=lambda: MappingProxyType({}))
    """Known fingerprints, which distinguish segments in `positions` from files of equal name."""

    def position(self, name: SegmentName) -> int:
        """Returns the acknowledged position; 0 for a new or completed segment."""
        return self.positions.get(name, 0)

    def is_completed(self, name: SegmentName) -> bool:
        return name in self.completed

    def advanced(
        self, name: SegmentName, position: int, fingerprint: int | None = None
    ) -> "SegmentOffsets":
        """Moves a position forward, but never back. Ignores completed segments."""
        if name in self.completed or position <= self.positions.get(name, 0):
            return self
        fingerprints = self.fingerprints
        if fingerprint is not None and fingerprints.get(name) != fingerprint:
            fingerprints = MappingProxyType({**fingerprints, name: fingerprint})
        return replace(
            self,
            positions=MappingProxyType({**self.positions, name: position}),
            fingerprints=fingerprints,
        )

    def finished(self, *names: SegmentName) -> "SegmentOffsets":
        """Marks segments as read and acknowledged to their end."""
        done = frozenset(names)
        return replace(self._without(done), completed=self.completed | done)

    def forgotten(self, name: SegmentName) -> "SegmentOffsets":
        if name not in self.completed and name not in self.positions:
            return self
        return self._without(frozenset((name,)))

    def _without(self, names: frozenset[SegmentName]) -> "SegmentOffsets":
        return SegmentOffsets(
            self.node_id,
            MappingProxyType({n: each for n, each in self.positions.items() if n not in names}),
            self.completed - names,
            MappingProxyType({n: each for n, each in self.fingerprints.items() if n not in names}),
        )

    def trimmed(
        self, present: Container[SegmentName], limit: int = REMEMBERED_SEGMENTS
    ) -> "SegmentOffsets":
        """Removes the oldest segments that are not `present`, beyond `limit`."""
        known = self.completed | self.positions.keys()
        if len(known) <= limit:
            return self
        absent = sorted((name for name in known if name not in present), key=by_age)
        forgotten = frozenset(absent[: max(0, len(absent) - limit)])
        return self._without(forgotten) if forgotten else self

    def to_entries(self) -> dict[str, str]:
        return {
            NODE_ID_KEY: self.node_id,
            **{name.log: str(position) for name, position in self.positions.items()},
            **{name.log: COMPLETED for name in self.completed},
        }

    def to_stored(self) -> dict[str, str]:
        """Returns the entries of the offset file, with fingerprints."""
        known = {f"{FINGERPRINT}{name}": f"{each:08x}" for name, each in self.fingerprints.items()}
        return {**self.to_entries(), **known}


def offsets_from_entries(entries: Mapping[str, str], node_id: str) -> SegmentOffsets:
    """Parses the entries of the offset file; empty without entries. Raises ConfigError if they
    belong to a different node, OffsetStoreError if they are invalid."""
    if not entries:
        return SegmentOffsets(node_id)
    stored = entries.get(NODE_ID_KEY)
    if stored != node_id:
        raise ConfigError(
            f"The stored offsets belong to the node {stored or '(unnamed)'}; this node is "
            f"{node_id}. If the node was replaced, run `agent offsets reset --snapshots` with this "
            "configuration and restart the agent. If both nodes exist, set a different "
            "offset.backing.store.dir for this node."
        )
    positions: dict[SegmentName, int] = {}
    completed: set[SegmentName] = set()
    fingerprints: dict[SegmentName, int] = {}
    for key, value in entries.items():
        if key == NODE_ID_KEY:
            continue
        name = parse_log_name(key.removeprefix(FINGERPRINT))
        if name is not None and key.startswith(FINGERPRINT):
            if re.fullmatch("[0-9a-f]{8}", value):
                fingerprints[name] = int(value, 16)
            continue
        if name is None or not (value == COMPLETED or (value.isascii() and value.isdigit())):
            raise OffsetStoreError(
                f"The stored offsets contain the entry `{key}={value}`, neither a position "
                "in a segment nor COMPLETED. Restore the offset files from a copy, or move them "
                "away to start with the oldest segment."
            )
        if value == COMPLETED:
            completed.add(name)
        else:
            positions[name] = int(value)
    return SegmentOffsets(
        node_id,
        MappingProxyType(positions),
        frozenset(completed),
        MappingProxyType({n: each for n, each in fingerprints.items() if n in positions}),
    )
