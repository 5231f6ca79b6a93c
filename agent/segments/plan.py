"""Tracks all segments: which segment to read next, and which segments can leave `cdc_raw`.

The agent reads one segment at a time, oldest first. A blocked segment blocks all newer segments, so
that the writes of a partition keep their order.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.cdc_raw.names import OldestFirst, SegmentName, by_age
from agent.cdc_raw.observation import COMPLETED_IDX, Observation, ObservedSegment
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


class Segments:
    """All segments in `cdc_raw`, and missing segments that are not yet recorded. Not thread-safe,
    except for `all`.

    Each change of a segment updates the query results, so that queries do not iterate over the
    waiting segments, which can be thousands.
    """

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self.reset(segments)

    def reset(self, segments: Iterable[Segment]) -> None:
        self._by_name: dict[SegmentName, Segment] = {}
        self._in_turn = OldestFirst()
        """Segments that can be read, or that block newer segments."""
        self._linked = OldestFirst()
        self._drained: set[SegmentName] = set()
        self._lost: set[SegmentName] = set()
        self._opened: set[SegmentName] = set()
        self._counts = dict.fromkeys(Phase, 0)
        self._newest_updated: SegmentName | None = None
        self.readable_bytes = 0
        """Readable, unacknowledged bytes of all segments."""
        for segment in segments:
            self.put(segment)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.all())

    def all(self) -> tuple[Segment, ...]:
        """Returns the current segments, oldest first."""
        return tuple(sorted(tuple(self._by_name.values()), key=lambda each: by_age(each.name)))

    def get(self, name: SegmentName) -> Segment | None:
        return self._by_name.get(name)

    def is_seen(self, name: SegmentName) -> bool:
        segment = self._by_name.get(name)
        return segment is not None and segment.is_seen

    def is_completed(self, name: SegmentName) -> bool:
        """Whether the index of a segment reported COMPLETED."""
        segment = self._by_name.get(name)
        return segment is not None and segment.idx.completed

    def put(self, segment: Segment) -> None:
        before = self._by_name.get(segment.name)
        if before is not segment:
            self._count(before, -1)
            self._by_name[segment.name] = segment
            self._count(segment, 1)
            self._note(segment, is_present=True)

    def change(self, name: SegmentName, change: Callable[[Segment], Segment]) -> None:
        """Changes a segment, if it exists."""
        segment = self._by_name.get(name)
        if segment is not None:
            self.put(change(segment))

    def remove(self, name: SegmentName) -> None:
        segment = self._by_name.pop(name, None)
        if segment is not None:
            self._count(segment, -1)
            self._note(segment, is_present=False)

    def _count(self, segment: Segment | None, by: int) -> None:
        if segment is not None:
            self._counts[segment.phase] += by
            self.readable_bytes += by * segment.readable_bytes

    def _note(self, segment: Segment, *, is_present: bool) -> None:
        name, is_drained = segment.name, segment.is_drained
        blocks = segment.is_blocked or segment.is_awaited
        self._in_turn.put(name, is_member=is_present and (blocks or segment.next_read is not None))
        self._linked.put(name, is_member=is_present and _is_linked(segment))
        for names, is_member in (
            (self._drained, is_drained and not segment.is_lost and not segment.is_deferred),
            (self._lost, segment.is_lost and not segment.is_reported),
            (self._opened, segment.is_opened),
        ):
            (names.add if is_present and is_member else names.discard)(name)

    def observe(
        self,
        observation: Observation,
        offsets: SegmentOffsets,
        *,
        retry: bool = False,
        awaited: Collection[SegmentName] = (),
    ) -> None:
        """Applies an observation of `cdc_raw`. `retry` repeats reads that ended before the index
        offset. `awaited` are segments with an index, whose file may follow."""
        newest_log, newest_updated = observation.newest_log, observation.newest_updated
        if newest_updated is not None:
            known = self._newest_updated or newest_updated
            self._newest_updated = max(known, newest_updated)
        observed = {found.name: found for found in observation.segments}
        for name in sorted(observed.keys() | self._by_name.keys(), key=by_age):
            segment, found = self._by_name.get(name), observed.get(name)
            if segment is not None and found is not None and _is_settled(segment, found):
                continue
            segment = segment or _known(name, offsets)
            around = Neighbours(
                has_newer_log=newest_log is not None and newest_log > name,
                has_newer_update=newest_updated is not None and newest_updated > name,
                is_awaited=name in awaited,
            )
            if found is None:
                segment = after_absence(segment, around)
            else:
                segment = after_observation(segment, found.log, found.idx, around)
            if segment.is_discarded and found is None:
                self.remove(name)
            else:
                self.put(with_retry(segment) if retry else segment)

    @property
    def next_read(self) -> ReadRequest | None:
        """The next read; None if nothing is readable or the oldest segment is blocked."""
        oldest = self._in_turn.oldest
        segment = None if oldest is None else self._by_name[oldest]
        if segment is None or segment.is_blocked or segment.is_awaited:
            return None
        return segment.next_read

    @property
    def drained(self) -> tuple[SegmentName, ...]:
        """Segments that can leave `cdc_raw` now, without segments that wait for a retry."""
        return tuple(sorted(self._drained, key=by_age))

    @property
    def lost(self) -> tuple[Segment, ...]:
        """Lost segments that are not yet recorded."""
        return tuple(self._by_name[name] for name in sorted(self._lost, key=by_age))

    @property
    def opened(self) -> tuple[Segment, ...]:
        return tuple(self._by_name[name] for name in self._opened)

    @property
    def pinned_by_link(self) -> SegmentName | None:
        """The oldest segment that cannot become final because of a foreign hard link, while the
        node's commit-log directory is unknown.

        The node completes a segment before it updates the index of a newer segment. So an older,
        incomplete segment was replayed, and the link is not the node's.
        """
        oldest, newest = self._linked.oldest, self._newest_updated
        is_older = oldest is not None and newest is not None and oldest < newest
        return oldest if is_older else None

    @property
    def count_by_phase(self) -> dict[Phase, int]:
        """Number of segments in each phase, including empty phases."""
        return dict(self._counts)


def _is_settled(segment: Segment, found: ObservedSegment) -> bool:
    """Whether an observation changes nothing, as for most waiting segments."""
    return (
        segment.is_final
        and found.idx is COMPLETED_IDX
        and segment.log == found.log
        and segment.idx.completed
        and segment.idx.unreadable is None
    )


def _is_linked(segment: Segment) -> bool:
    log = segment.log
    is_live = segment.idx.offset is not None and not segment.is_final
    return is_live and log is not None and log.link_count > 1 and log.is_in_commit_log is None


def known_names(segments: Segments, offsets: SegmentOffsets) -> Sequence[SegmentName]:
    """Lists all segments that the agent has observed or read, oldest first."""
    observed = {segment.name for segment in segments}
    return sorted(observed | offsets.positions.keys() | offsets.completed, key=by_age)


def next_known(name: SegmentName, known: Sequence[SegmentName]) -> SegmentName | None:
    """Returns the oldest of the `known_names` after `name`, or None. The node deletes the oldest
    segments first. If it deleted `name`, it may also have deleted all segments up to the next known
    segment before the agent observed them."""
    index = bisect_right(known, by_age(name), key=by_age)
    return known[index] if index < len(known) else None


@dataclass(frozen=True, slots=True)
class DeletedUnread:
    """Segments that the node may have deleted before the agent observed them."""

    first: SegmentName
    following: SegmentName
    """The first existing segment after them."""


def find_deleted_unread(
    offsets: SegmentOffsets, observation: Observation, deletes_at_bytes: int | None
) -> DeletedUnread | None:
    """Finds segments that the node may have deleted unread while the agent was stopped, or None.

    `deletes_at_bytes` is the size at which the node deletes; None if it rejects writes instead.
    While the agent is stopped, only such deletions remove segments with changes, one at a time. So
    `cdc_raw` is still nearly full afterwards, and ids are missing after the last known segment.
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
    """Creates segments from stored offsets; the first observation shows which are missing."""
    return Segments(
        _known(name, offsets) for name in offsets.positions if not offsets.is_completed(name)
    )


def _known(name: SegmentName, offsets: SegmentOffsets) -> Segment:
    position = offsets.position(name)
    return Segment(
        name,
        read_position=position,
        acknowledged_position=position,
        is_finished=offsets.is_completed(name),
        fingerprint=offsets.fingerprints.get(name),
    )
