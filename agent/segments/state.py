"""The life cycle of one segment as a pure state machine (format notes §7).

    waiting ─► reading ⇄ idle ─► final ─► drained
                  │ blocked

Each observation, read or acknowledgement creates a new `Segment`. Phase and next read are computed
from its facts, never stored.

The node writes and syncs segments in order. So a segment without an index update has no pending
changes if a newer segment has an update: the agent reads newer segments, and keeps this segment
until it is final. A segment is final if its index says COMPLETED. It is also final if the node's
commit log no longer contains it and a newer segment exists: the node released, replayed or never
used it. Up to version 6, the node moves final segments into `cdc_raw`, without an index.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from agent.cdc_raw.idx import NO_UPDATE, Idx, merge_idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import ObservedLog

_LAST_VERSION_WITHOUT_IDX = 6


class Phase(StrEnum):
    WAITING = "waiting"
    """Nothing is readable yet."""
    READING = "reading"
    """Unread data is readable; more will follow."""
    IDLE = "idle"
    """All durable data is read; more will follow."""
    BLOCKED = "blocked"
    """The next record cannot be read now."""
    FINAL = "final"
    """Complete, but not yet fully read and acknowledged."""
    DRAINED = "drained"
    """Fully acknowledged; it can leave `cdc_raw`."""
    VANISHED = "vanished"
    """Disappeared from `cdc_raw` before it was fully read."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Facts about other segments that affect a segment."""

    has_newer_log: bool
    has_newer_update: bool
    is_awaited: bool = False
    """The segment's index exists, and its file may follow."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Continue reading a segment: to its end (`complete`), or sections that end by `limit`."""

    name: SegmentName
    position: int
    limit: int | None
    complete: bool
    expected_end: int = 0
    """The log once reached this position; if it ends earlier, data is missing."""
    completed_at: int = 0
    """The number next to COMPLETED: the logical end of the log, or the file length."""
    fingerprint: int | None = None
    """Fingerprint of the file that was read up to the position; None if unknown."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment. Positions are logical: data before `read_position` is read, data before
    `acknowledged_position` is acknowledged or quarantined."""

    name: SegmentName
    read_position: int = 0
    acknowledged_position: int = 0
    idx: Idx = NO_UPDATE
    log: ObservedLog | None = None
    """The latest observation; None without the file."""
    is_seen: bool = False
    """The running agent has observed its file in `cdc_raw`."""
    synced_end: int = 0
    """The largest offset that the index has ever contained."""
    completed_end: int = 0
    """The end that a COMPLETED index proves, given the current length of the file."""
    is_final: bool = False
    is_finished: bool = False
    """Stored as COMPLETED: read and acknowledged, in this run or an earlier run."""
    is_opened: bool = False
    """A reader has the file open, so it stays readable after deletion."""
    is_blocked: bool = False
    is_awaited: bool = False
    """The agent waits for its file before it reads newer segments."""
    is_unreadable: bool = False
    """Data after `read_position` is unreadable and recorded as lost."""
    is_read_to_end: bool = False
    is_lost: bool = False
    """Disappeared with unread data."""
    is_reported: bool = False
    """The loss is recorded."""
    is_discarded: bool = False
    """Disappeared without a loss, or with a recorded loss: the agent can forget it."""
    fingerprint: int | None = None
    """Distinguishes its file from other files with its name; None before the first read."""
    is_deferred: bool = False
    """It could not leave `cdc_raw`; the agent retries later."""
    ended_at: int | None = None
    """The limit at which the latest read found no more data."""

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
        return self.is_finished or self.is_read_to_end or (self.is_unreadable and self.is_final)

    @property
    def is_drained(self) -> bool:
        """Whether it may leave `cdc_raw`."""
        if not self.is_final or not self.has_nothing_to_read:
            return False
        return self.is_finished or self.acknowledged_position >= self.read_position

    @property
    def next_read(self) -> ReadRequest | None:
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
                expected_end=max(self.synced_end, self.completed_end),
                completed_at=self.idx.completed_at or 0,
                fingerprint=self.fingerprint,
            )
        limit = self.idx.offset
        if limit is None or (self.ended_at is not None and limit <= self.ended_at):
            return None
        return ReadRequest(
            self.name,
            self.read_position,
            limit=limit,
            complete=False,
            expected_end=limit,
            fingerprint=self.fingerprint,
        )

    @property
    def readable_bytes(self) -> int:
        """Estimate of the unacknowledged bytes; 0 if drained."""
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
    """Returns the segment after an observation of at least one of its files."""
    merged = merge_idx(segment.idx, idx)
    completed_end = segment.completed_end
    if log is not None:
        completed_end = merged.synced_end(log.size_bytes) if merged.completed else 0
    observed = replace(
        segment,
        log=log,
        idx=merged,
        synced_end=max(segment.synced_end, merged.offset or 0),
        completed_end=completed_end,
        is_discarded=False,
        is_awaited=log is None and around.is_awaited,
    )
    if observed.is_awaited:
        return observed
    if log is None:
        return _without_log(observed, around)
    return replace(
        observed,
        is_seen=True,
        is_lost=False,
        is_reported=False,
        is_final=segment.is_final or _is_final(observed, around),
    )


def after_absence(segment: Segment, around: Neighbours) -> Segment:
    """Returns the segment after an observation without its files."""
    gone = _without_log(replace(segment, log=None, is_awaited=False), around)
    if gone.is_finished or gone.is_reported:
        return replace(gone, is_discarded=True)
    return gone


def after_read(segment: Segment, order: ReadRequest, position: int, *, at_end: bool) -> Segment:
    """Returns the segment after a read up to `position`; `at_end`: the request is exhausted."""
    if not at_end:
        return replace(segment, read_position=position)
    return replace(
        segment, read_position=position, is_read_to_end=order.complete, ended_at=order.limit
    )


def with_retry(segment: Segment) -> Segment:
    """Allows a retry of a read that ended before the index offset, because the node does not write
    a sync marker atomically."""
    if segment.ended_at is None or segment.read_position >= segment.ended_at:
        return segment
    return replace(segment, ended_at=None)


def after_acknowledgement(segment: Segment, position: int) -> Segment:
    """Returns the segment after all data before `position` is acknowledged or quarantined."""
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
        # An update of a newer index proves that the node closed this segment.
        closed = segment.is_final or segment.idx.completed or around.has_newer_update
        return replace(segment, is_final=closed)
    # A segment without any index update had no change data: the node removes its own link.
    had_data = (
        segment.idx.has_update
        or segment.read_position > 0
        or segment.name.version <= _LAST_VERSION_WITHOUT_IDX
    )
    return replace(segment, is_lost=had_data, is_discarded=not had_data, is_blocked=False)
