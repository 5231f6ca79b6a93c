"""Tracks segments whose index arrives in `cdc_raw` before their file, as frozen values.

The node links the file first, but a restore of the directory can create the index first, and a scan
can run in between. Such a segment is not lost: the agent waits for its file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import Segments

PATIENCE_S = 10.0
"""Time until the agent reports a segment without its file as lost."""


@dataclass(frozen=True, slots=True)
class AwaitedFiles:
    """The awaited segments after the latest scan."""

    since_s: Mapping[SegmentName, float] = field(default_factory=lambda: MappingProxyType({}))
    """Time of the first observation of the index."""
    overdue: frozenset[SegmentName] = frozenset()
    """Segments for whose file the agent no longer waits."""

    @property
    def names(self) -> frozenset[SegmentName]:
        return frozenset(self.since_s)

    def due_in_s(self, now_s: float) -> float | None:
        """Seconds until the next segment is overdue; None if no file is awaited."""
        if not self.since_s:
            return None
        return max(0.0, min(self.since_s.values()) + PATIENCE_S - now_s)

    def after(
        self, observation: Observation, segments: Segments, offsets: SegmentOffsets, now_s: float
    ) -> "AwaitedFiles":
        """Returns the state after a scan; `segments` is the state before it. If the agent has
        observed or read a segment's file, the file was deleted and is not awaited."""
        alone = {
            seen.name
            for seen in observation.segments
            if seen.log is None and seen.idx.has_update and seen.name not in offsets.positions
        }
        overdue = self.overdue & alone
        waiting = {
            name: self.since_s.get(name, now_s)
            for name in sorted(alone - overdue)
            if not offsets.is_completed(name)
            and (name in self.since_s or not segments.is_seen(name))
        }
        over = {name for name, since_s in waiting.items() if now_s - since_s >= PATIENCE_S}
        return AwaitedFiles(
            MappingProxyType({n: since_s for n, since_s in waiting.items() if n not in over}),
            overdue | over,
        )
