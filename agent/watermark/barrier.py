"""The end of the log at one scan, and whether all of it is acknowledged. Pure."""

from collections.abc import Mapping

from agent.cdc_raw.names import SegmentName
from agent.segments.plan import Segments


class Barrier:
    """The synced positions of the segments; None stands for the end of a final segment."""

    def __init__(self, positions: Mapping[SegmentName, int | None]) -> None:
        self.positions = positions
        self._left = iter(positions.items())
        self._next = next(self._left, None)

    def is_reached(self, segments: Segments) -> bool:
        """True when Kafka, or the quarantine, has everything before the positions. What it once had
        is not asked for again."""
        while self._next is not None and _is_acknowledged(segments, *self._next):
            self._next = next(self._left, None)
        return self._next is None


def barrier_at(segments: Segments) -> Barrier:
    """The barrier after a scan. A segment without an update of its index has no changes."""
    return Barrier(
        {
            segment.name: None if segment.is_final or segment.idx.completed else segment.idx.offset
            for segment in segments
            if segment.is_final or segment.idx.has_update
        }
    )


def _is_acknowledged(segments: Segments, name: SegmentName, position: int | None) -> bool:
    segment = segments.get(name)
    # A segment leaves the list when it is delivered, or when its loss is recorded.
    if segment is None or segment.is_drained or segment.is_reported:
        return True
    return position is not None and segment.acknowledged_position >= position
