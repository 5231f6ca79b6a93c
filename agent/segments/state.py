"""The life of one segment, as a pure machine (format notes §7).

    waiting ─► reading ⇄ idle ─► final ─► drained
                  │ blocked

What a look shows, what a read gave and what the sink acknowledged each make a new `Segment` of the
old one. Phase and next step follow from the facts in it and are never stored.

The node writes segments in order and syncs them in order. So a segment without news, older than one
with news, holds nothing that could still come: reading goes on behind it, and it is not removed
before it is final. A segment is final when its index says COMPLETED, or when the node's commit log
no longer has it and a newer one exists: the node released it, replayed it or never used it. Up to
version 6 a segment is moved into `cdc_raw` when it is done, without an index: final at sight.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from agent.cdc_raw import NO_UPDATE, Idx, ObservedLog, SegmentName, merge_idx

_LAST_VERSION_WITHOUT_IDX = 6


class Phase(StrEnum):
    """Where a segment stands, for people."""

    WAITING = "waiting"
    """Nothing can be read yet."""
    READING = "reading"
    """Something can be read, and more will come."""
    IDLE = "idle"
    """All that is durable is read; more will come."""
    BLOCKED = "blocked"
    """The next record cannot be read for now."""
    FINAL = "final"
    """Nothing more will come; not all of it is read and acknowledged."""
    DRAINED = "drained"
    """All of it is acknowledged; it can leave `cdc_raw`."""
    VANISHED = "vanished"
    """Gone from `cdc_raw` before it was read to its end."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the other segments of an observation say about this one."""

    has_newer_log: bool
    has_newer_update: bool
    is_awaited: bool = False
    """Its index is alone for a short time, and its file may follow."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Read on in this segment: to its end (`complete`), or sections that end by `limit`."""

    name: SegmentName
    position: int
    limit: int | None
    complete: bool
    expected_end: int = 0
    """The log led to here once: where it ends earlier, something is missing."""
    completed_at: int = 0
    """The number beside COMPLETED: of a file of blocks it is the end, logical or physical."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment. Positions are logical; everything before `read_position` is read, everything
    before `acknowledged_position` is acknowledged or set aside."""

    name: SegmentName
    read_position: int = 0
    acknowledged_position: int = 0
    idx: Idx = NO_UPDATE
    log: ObservedLog | None = None
    """As last seen; None when the file is not there."""
    synced_end: int = 0
    """The largest position that an index has named as synced, whatever it names now."""
    is_final: bool = False
    is_finished: bool = False
    """The ledger says COMPLETED: read and acknowledged, in this run or an earlier one."""
    is_opened: bool = False
    """A reader holds the file open, so it can be read after it is gone."""
    is_blocked: bool = False
    is_awaited: bool = False
    """The agent waits for its file, and reads no newer segment before it."""
    is_unreadable: bool = False
    """What comes behind `read_position` cannot be read at all; it is set aside as a gap."""
    is_read_to_end: bool = False
    is_lost: bool = False
    """Gone with something in it that was not read."""
    is_reported: bool = False
    """The loss is on record."""
    is_discarded: bool = False
    """Gone, and there is nothing to do about it: it can be forgotten here."""
    ended_at: int | None = None
    """The limit with which the last read found nothing more."""

    @property
    def phase(self) -> Phase:
        if self.is_lost:
            return Phase.VANISHED
        if self.is_drained:
            return Phase.DRAINED
        if self.is_blocked:
            return Phase.BLOCKED
        if self.is_final:
            return Phase.FINAL
        if self.next_read is not None:
            return Phase.READING
        return Phase.IDLE if self.idx.offset is not None else Phase.WAITING

    @property
    def has_nothing_to_read(self) -> bool:
        """True when no read will be made of it any more."""
        return self.is_finished or self.is_read_to_end or (self.is_unreadable and self.is_final)

    @property
    def is_drained(self) -> bool:
        """True when it may leave `cdc_raw`."""
        if not self.is_final or not self.has_nothing_to_read:
            return False
        return self.is_finished or self.acknowledged_position >= self.read_position

    @property
    def next_read(self) -> ReadRequest | None:
        """The read that could be made now, or None."""
        if self.has_nothing_to_read or self.is_unreadable or self.is_blocked:
            return None
        if self.log is None and not self.is_opened:
            return None
        if self.is_final:
            return ReadRequest(
                self.name,
                self.read_position,
                limit=None,
                complete=True,
                expected_end=self.synced_end,
                completed_at=self.idx.completed_at or 0,
            )
        limit = self.idx.offset
        if limit is None or (self.ended_at is not None and limit <= self.ended_at):
            return None
        return ReadRequest(
            self.name, self.read_position, limit=limit, complete=False, expected_end=limit
        )

    @property
    def readable_bytes(self) -> int:
        """Bytes that are there and not acknowledged, as far as the files tell; 0 when drained."""
        if self.has_nothing_to_read:
            end = self.read_position
        elif self.is_final:
            end = max(self.log.size_bytes if self.log else 0, self.idx.offset or 0)
        else:
            end = self.idx.offset or 0
        return 0 if self.is_finished else max(0, end - self.acknowledged_position)


def after_observation(
    segment: Segment, log: ObservedLog | None, idx: Idx, around: Neighbours
) -> Segment:
    """The segment after a look that showed at least one of its files."""
    synced_end = idx.synced_end(None if log is None else log.size_bytes)
    told = replace(
        segment,
        log=log,
        idx=merge_idx(segment.idx, idx),
        synced_end=max(segment.synced_end, synced_end),
        is_discarded=False,
        is_awaited=log is None and around.is_awaited,
    )
    if told.is_awaited:
        return told
    if log is None:
        return _without_log(told, around)
    return replace(
        told,
        is_lost=False,
        is_reported=False,
        is_final=segment.is_final or _is_final(told, around),
    )


def after_absence(segment: Segment, around: Neighbours) -> Segment:
    """The segment after a look that showed none of its files."""
    gone = _without_log(replace(segment, log=None, is_awaited=False), around)
    if gone.is_finished or gone.is_reported:
        return replace(gone, is_discarded=True)
    return gone


def after_read(segment: Segment, order: ReadRequest, position: int, *, at_end: bool) -> Segment:
    """After a read up to `position`; `at_end`: it found nothing more within the order."""
    if not at_end:
        return replace(segment, read_position=position)
    return replace(
        segment, read_position=position, is_read_to_end=order.complete, ended_at=order.limit
    )


def with_retry(segment: Segment) -> Segment:
    """A read that ended short of the index may be made once more: two words of a marker are not
    written at one moment."""
    if segment.ended_at is None or segment.read_position >= segment.ended_at:
        return segment
    return replace(segment, ended_at=None)


def after_acknowledgement(segment: Segment, position: int) -> Segment:
    """After everything before `position` is acknowledged or set aside."""
    return replace(segment, acknowledged_position=max(segment.acknowledged_position, position))


def _is_final(segment: Segment, around: Neighbours) -> bool:
    if segment.name.version <= _LAST_VERSION_WITHOUT_IDX or segment.idx.completed:
        return True
    is_released = segment.log is not None and segment.log.is_released
    return is_released and around.has_newer_log


def _without_log(segment: Segment, around: Neighbours) -> Segment:
    if segment.is_finished or segment.has_nothing_to_read:
        return replace(segment, is_final=True)
    if segment.is_opened:
        # Newer news says that the node closed this segment before it went: its chain is whole.
        closed = segment.is_final or segment.idx.completed or around.has_newer_update
        return replace(segment, is_final=closed)
    # A segment that never had news held no change data: the node removes its link itself.
    had_data = (
        segment.idx.has_update
        or segment.read_position > 0
        or segment.name.version <= _LAST_VERSION_WITHOUT_IDX
    )
    return replace(segment, is_lost=had_data, is_discarded=not had_data, is_blocked=False)
