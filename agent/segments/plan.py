"""All segments together: which one to read next, and which can leave `cdc_raw`. Pure.

The agent reads one segment at a time, oldest first. A blocked segment blocks all newer ones, so
that the writes of a partition keep their order.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation
from agent.segments.offsets import SegmentOffsets
from agent.segments.state import (
    Neighbours,
    Phase,
    ReadRequest,
    Segment,
    after_absence,
    after_observation,
    with_retry,
)


@dataclass(frozen=True, slots=True)
class Segments:
    """All segments in `cdc_raw`, and missing ones that are not yet recorded, oldest first."""

    by_name: Mapping[SegmentName, Segment] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.by_name.values())

    def get(self, name: SegmentName) -> Segment | None:
        return self.by_name.get(name)

    def changed(self, name: SegmentName, change: Callable[[Segment], Segment]) -> "Segments":
        """A copy with one segment changed; unchanged without that segment."""
        segment = self.by_name.get(name)
        if segment is None:
            return self
        # Replacing a value keeps the order.
        return Segments(MappingProxyType({**self.by_name, name: change(segment)}))

    def without(self, name: SegmentName) -> "Segments":
        others = {n: segment for n, segment in self.by_name.items() if n != name}
        return Segments(MappingProxyType(others))

    @property
    def next_read(self) -> ReadRequest | None:
        """The next read; None while nothing is readable or a segment is blocked."""
        for segment in self:
            if segment.is_blocked or segment.is_awaited:
                return None
            order = segment.next_read
            if order is not None:
                return order
        return None

    @property
    def blocked(self) -> Segment | None:
        """The segment that blocks the others."""
        return next((segment for segment in self if segment.is_blocked), None)

    @property
    def drained(self) -> tuple[SegmentName, ...]:
        """Segments that can leave `cdc_raw`."""
        return tuple(s.name for s in self if s.is_drained and not s.is_lost)

    @property
    def lost(self) -> tuple[Segment, ...]:
        """Lost segments that are not yet recorded."""
        return tuple(s for s in self if s.is_lost and not s.is_reported)

    @property
    def readable_bytes(self) -> int:
        """Readable, unacknowledged bytes of all segments."""
        return sum(segment.readable_bytes for segment in self)

    @property
    def count_by_phase(self) -> dict[Phase, int]:
        """Number of segments in each phase; includes every phase."""
        counts = dict.fromkeys(Phase, 0)
        for segment in self:
            counts[segment.phase] += 1
        return counts


def next_known(
    name: SegmentName, segments: Segments, offsets: SegmentOffsets
) -> SegmentName | None:
    """The oldest segment after `name` that the agent has observed or read; None without one.

    The node deletes the oldest segments first. When it deleted `name`, it may also have deleted
    all segments up to the next known one before the agent observed them.
    """
    known = (*segments.by_name, *offsets.positions, *offsets.completed)
    return min((each for each in known if each > name), default=None)


@dataclass(frozen=True, slots=True)
class DeletedUnread:
    """Segments that the node may have deleted before the agent observed them."""

    first: SegmentName
    following: SegmentName
    """The first existing segment after them."""


def find_deleted_unread(
    offsets: SegmentOffsets, observation: Observation, deletes_at_bytes: int | None
) -> DeletedUnread | None:
    """Segments that the node may have deleted unread while the agent was stopped; None without any.

    `deletes_at_bytes` is the size at which the node deletes; None when it rejects writes instead.
    While the agent is stopped, only such deletions remove segments with changes, one at a time. So
    `cdc_raw` is still nearly full then, and ids are missing after the last known segment.
    """
    known = (*offsets.positions, *offsets.completed)
    if deletes_at_bytes is None or not known:
        return None
    last = max(known)
    logs = {seen.name: seen.log for seen in observation.segments if seen.log is not None}
    following = min((name for name in logs if name > last), default=None)
    if following is None or following.id == last.id + 1:
        return None
    if last in offsets.positions and last not in logs:
        # The loss of `last` covers the same segments.
        return None
    largest_bytes = max(log.size_bytes for log in logs.values())
    if observation.size_bytes + 2 * largest_bytes < deletes_at_bytes:
        return None
    return DeletedUnread(SegmentName(id=last.id + 1, version=last.version), following)


def segments_from_offsets(offsets: SegmentOffsets) -> Segments:
    """Segments with a stored offset, before the first observation, which shows the missing ones."""
    return _segments(
        {
            name: _known(name, offsets)
            for name in offsets.positions
            if not offsets.is_completed(name)
        }
    )


def apply_observation(
    segments: Segments,
    observation: Observation,
    offsets: SegmentOffsets,
    *,
    retry: bool = False,
    awaited: Collection[SegmentName] = (),
) -> Segments:
    """The segments after an observation of `cdc_raw`.

    `retry` repeats reads that ended before the index. `awaited` are segments with an index whose
    file may follow.
    """
    newest_log, newest_updated = observation.newest_log, observation.newest_updated
    observed = {found.name: found for found in observation.segments}
    after: dict[SegmentName, Segment] = {}
    for name in sorted(observed.keys() | segments.by_name.keys()):
        segment = segments.by_name.get(name) or _known(name, offsets)
        around = Neighbours(
            has_newer_log=newest_log is not None and newest_log > name,
            has_newer_update=newest_updated is not None and newest_updated > name,
            is_awaited=name in awaited,
        )
        found = observed.get(name)
        if found is None:
            segment = after_absence(segment, around)
        else:
            segment = after_observation(segment, found.log, found.idx, around)
        if segment.is_discarded and found is None:
            continue
        after[name] = with_retry(segment) if retry else segment
    return Segments(MappingProxyType(after))


def _known(name: SegmentName, offsets: SegmentOffsets) -> Segment:
    position = offsets.position(name)
    return Segment(
        name,
        read_position=position,
        acknowledged_position=position,
        is_finished=offsets.is_completed(name),
    )


def _segments(by_name: dict[SegmentName, Segment]) -> Segments:
    return Segments(MappingProxyType(dict(sorted(by_name.items()))))


def pinned_by_link(segments: Iterable[Segment]) -> tuple[SegmentName, ...]:
    """Segments that cannot become final because of a foreign hard link, while the node's commit-log
    directory is unknown.

    The node completes a segment before it updates the index of a newer one. An older segment that
    is not completed was replayed, so the link is not the node's.
    """
    known = tuple(segments)
    newest = max((each.name for each in known if each.idx.has_update), default=None)
    return tuple(
        each.name
        for each in known
        if newest is not None
        and each.name < newest
        and each.idx.offset is not None
        and not each.is_final
        and each.log is not None
        and each.log.link_count > 1
        and each.log.is_in_commit_log is None
    )
