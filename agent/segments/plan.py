"""All segments together: which one is read next, and what else is to be done.

One segment is read at a time, the oldest first; a held one holds those behind it, so that the
writes of a partition keep their order. Pure: a look makes new segments of the old ones, and the
steps follow from the segments.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent.cdc_raw import Observation, SegmentName
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
    """Every segment that is in `cdc_raw` or not yet dealt with, oldest first."""

    by_name: Mapping[SegmentName, Segment] = field(default_factory=lambda: MappingProxyType({}))

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.by_name.values())

    def get(self, name: SegmentName) -> Segment | None:
        return self.by_name.get(name)

    def changed(self, name: SegmentName, change: Callable[[Segment], Segment]) -> "Segments":
        """The same with one segment changed; a segment that is not there is left out."""
        segment = self.by_name.get(name)
        if segment is None:
            return self
        # The order stays: the name has its place.
        return Segments(MappingProxyType({**self.by_name, name: change(segment)}))

    def without(self, name: SegmentName) -> "Segments":
        others = {n: segment for n, segment in self.by_name.items() if n != name}
        return Segments(MappingProxyType(others))

    @property
    def next_read(self) -> ReadRequest | None:
        """The read to make now."""
        for segment in self:
            if segment.is_blocked or segment.is_awaited:
                return None
            order = segment.next_read
            if order is not None:
                return order
        return None

    @property
    def blocked(self) -> Segment | None:
        """The segment that holds up the others."""
        return next((segment for segment in self if segment.is_blocked), None)

    @property
    def drained(self) -> tuple[SegmentName, ...]:
        """Segments that can leave `cdc_raw`."""
        return tuple(s.name for s in self if s.is_drained and not s.is_lost)

    @property
    def lost(self) -> tuple[Segment, ...]:
        """Segments whose loss is to be put on record."""
        return tuple(s for s in self if s.is_lost and not s.is_reported)

    @property
    def readable_bytes(self) -> int:
        """Bytes that are readable and not acknowledged, over all segments."""
        return sum(segment.readable_bytes for segment in self)

    @property
    def count_by_phase(self) -> dict[Phase, int]:
        """How many segments stand where; every phase is there."""
        counts = dict.fromkeys(Phase, 0)
        for segment in self:
            counts[segment.phase] += 1
        return counts


def next_known(name: SegmentName, segments: Segments, ledger: SegmentOffsets) -> SegmentName | None:
    """The oldest segment after `name` that the agent has seen or read; None when there is none.

    The node deletes the oldest segments first. When it deleted one that the agent had begun, it may
    have deleted those up to the next known one before the agent saw them.
    """
    known = (*segments.by_name, *ledger.positions, *ledger.completed)
    return min((each for each in known if each > name), default=None)


@dataclass(frozen=True, slots=True)
class DeletedUnread:
    """Segments that the node may have deleted before the agent saw them."""

    first: SegmentName
    following: SegmentName
    """The first segment after them, which is there."""


def find_deleted_unread(
    ledger: SegmentOffsets, observation: Observation, deletes_at_bytes: int | None
) -> DeletedUnread | None:
    """What a node that deletes may have deleted while the agent was stopped; None when nothing.

    `deletes_at_bytes` is the size at which it deletes; None when it rejects writes instead. While
    the agent is stopped only such deletions make `cdc_raw` smaller by segments with changes, one at
    a time. So it is still nearly full, and ids are missing after the last known segment.
    """
    known = (*ledger.positions, *ledger.completed)
    if deletes_at_bytes is None or not known:
        return None
    last = max(known)
    logs = {seen.name: seen.log for seen in observation.segments if seen.log is not None}
    following = min((name for name in logs if name > last), default=None)
    if following is None or following.id == last.id + 1:
        return None
    if last in ledger.positions and last not in logs:
        # Its own loss names the same segments.
        return None
    largest_bytes = max(log.size_bytes for log in logs.values())
    if observation.size_bytes + 2 * largest_bytes < deletes_at_bytes:
        return None
    return DeletedUnread(SegmentName(id=last.id + 1, version=last.version), following)


def segments_from_offsets(ledger: SegmentOffsets) -> Segments:
    """Segments of which the ledger knows a position, before the first look: those that the look
    does not show have vanished meanwhile."""
    return _segments(
        {name: _known(name, ledger) for name in ledger.positions if not ledger.is_completed(name)}
    )


def apply_observation(
    segments: Segments,
    observation: Observation,
    ledger: SegmentOffsets,
    *,
    retry: bool = False,
    awaited: Collection[SegmentName] = (),
) -> Segments:
    """The segments after a look. `retry`: reads that ended short of the index are made again.
    `awaited`: segments whose index is alone and whose file may follow."""
    newest_log, newest_updated = observation.newest_log, observation.newest_updated
    shown = {found.name: found for found in observation.segments}
    after: dict[SegmentName, Segment] = {}
    for name in sorted(shown.keys() | segments.by_name.keys()):
        segment = segments.by_name.get(name) or _known(name, ledger)
        around = Neighbours(
            has_newer_log=newest_log is not None and newest_log > name,
            has_newer_update=newest_updated is not None and newest_updated > name,
            is_awaited=name in awaited,
        )
        found = shown.get(name)
        if found is None:
            segment = after_absence(segment, around)
        else:
            segment = after_observation(segment, found.log, found.idx, around)
        if segment.is_discarded and found is None:
            continue
        after[name] = with_retry(segment) if retry else segment
    return Segments(MappingProxyType(after))


def _known(name: SegmentName, ledger: SegmentOffsets) -> Segment:
    position = ledger.position(name)
    return Segment(
        name,
        read_position=position,
        acknowledged_position=position,
        is_finished=ledger.is_completed(name),
    )


def _segments(by_name: dict[SegmentName, Segment]) -> Segments:
    return Segments(MappingProxyType(dict(sorted(by_name.items()))))


def pinned_by_link(segments: Iterable[Segment]) -> tuple[SegmentName, ...]:
    """Segments that a link elsewhere keeps from becoming final while the node's commit log is not
    known.

    The node completes a segment before a newer one has news. One that is not completed by then was
    replayed, so the link is none of the node's.
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
