"""Segment states of the format notes, section 7."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from agent.cdc_raw.idx import NO_UPDATE, Idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation, ObservedLog, ObservedSegment
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import Segments, segments_from_offsets
from agent.segments.state import Phase, ReadRequest, Segment, after_acknowledgement, after_read

LINKED = ObservedLog(size_bytes=1048576, link_count=2)
RELEASED = ObservedLog(size_bytes=1048576, link_count=1)
COMPLETED = Idx(completed=True)
NODE = SegmentOffsets("node-1")


def name(segment_id: int, version: int = 7) -> SegmentName:
    return SegmentName(segment_id, version)


def at(
    segment_id: int, log: ObservedLog | None, idx: Idx = NO_UPDATE, version: int = 7
) -> ObservedSegment:
    return ObservedSegment(name(segment_id, version), log, idx)


def live(segment_id: int, limit: int, *, position: int = 0) -> ReadRequest:
    """A read up to the index."""
    return ReadRequest(name(segment_id), position, limit, complete=False, expected_end=limit)


def whole(
    segment_id: int, *, position: int = 0, expected_end: int = 0, version: int = 7
) -> ReadRequest:
    """A read to the end of the chain."""
    return ReadRequest(
        name(segment_id, version), position, None, complete=True, expected_end=expected_end
    )


def look(
    *found: ObservedSegment, before: Segments | None = None, ledger: SegmentOffsets = NODE
) -> Segments:
    segments = segments_from_offsets(ledger) if before is None else Segments(before)
    segments.observe(Observation(found), ledger)
    return segments


def changed(
    segments: Segments, name: SegmentName, change: Callable[[Segment], Segment]
) -> Segments:
    after = Segments(segments)
    after.change(name, change)
    return after


def phases(segments: Segments) -> list[str]:
    return [segment.phase.value for segment in segments]


def read_all(segments: Segments, position: int) -> Segments:
    order = segments.next_read
    assert order is not None
    after = changed(segments, order.name, lambda s: after_read(s, order, position, at_end=True))
    return changed(after, order.name, lambda s: after_acknowledgement(s, position))


def test_segment_without_updates_waits_and_vanishes_without_loss() -> None:
    segments = look(at(1, LINKED), at(2, LINKED))
    assert (phases(segments), segments.next_read) == (["waiting", "waiting"], None)
    assert (segments.drained, segments.readable_bytes) == ((), 0)
    segments = look(at(2, LINKED), before=segments)
    assert (phases(segments), segments.lost) == (["waiting"], ())


def test_a_live_segment_is_read_up_to_its_index() -> None:
    segments = look(at(1, LINKED, Idx(offset=500)), at(2, LINKED))
    assert (phases(segments), segments.next_read) == (["reading", "waiting"], live(1, 500))
    segments = read_all(segments, 500)
    assert phases(segments) == ["idle", "waiting"]
    assert segments.next_read is None
    segments = look(at(1, LINKED, Idx(offset=700)), at(2, LINKED), before=segments)
    assert segments.next_read == live(1, 700, position=500)


def test_decreasing_index_offset_is_ignored() -> None:
    segments = read_all(look(at(1, LINKED, Idx(offset=500))), 500)
    for idx in (Idx(offset=300), Idx()):
        segments = look(at(1, LINKED, idx), before=segments)
        assert segments.next_read is None
        assert [s.idx.offset for s in segments] == [500]


def test_completed_segment_is_read_to_end_regardless_of_index() -> None:
    segments = read_all(look(at(1, LINKED, Idx(offset=119936))), 119936)
    segments = look(at(1, ObservedLog(22090, 1), COMPLETED), before=segments)
    assert phases(segments) == ["final"]
    assert segments.next_read == whole(1, position=119936, expected_end=119936)
    assert phases(read_all(segments, 119936)) == ["drained"]


@pytest.mark.parametrize(
    ("number", "size_bytes", "expected_end"),
    [
        pytest.param(952495, 1048576, 952495, id="the node closed it"),
        pytest.param(1048576, 1048576, 400, id="a replay wrote the length of the file"),
        pytest.param(1048576, 500000, 1048576, id="the file was cut after a replay"),
        pytest.param(300, 1048576, 400, id="the index went back"),
    ],
)
def test_expected_end_is_largest_trusted_index_position(
    number: int, size_bytes: int, expected_end: int
) -> None:
    segments = look(at(1, ObservedLog(size_bytes, 2), Idx(offset=400)))
    segments = look(
        at(1, ObservedLog(size_bytes, 1), Idx(completed=True, completed_at=number)), before=segments
    )
    assert segments.next_read is not None
    assert segments.next_read.expected_end == expected_end
    assert segments.next_read.completed_at == number
    # A completed index is not reread.
    segments = look(at(1, ObservedLog(size_bytes, 1), COMPLETED), before=segments)
    assert segments.next_read is not None
    assert segments.next_read.expected_end == expected_end


def test_segment_drains_only_after_acknowledgement() -> None:
    segments = look(at(1, LINKED, COMPLETED))
    order = segments.next_read
    assert order is not None
    segments = changed(segments, name(1), lambda s: after_read(s, order, 900, at_end=True))
    assert (phases(segments), segments.drained) == (["final"], ())
    for position, drained in ((899, ()), (900, (name(1),))):
        segments = changed(segments, name(1), partial(after_acknowledgement, position=position))
        assert segments.drained == drained


def test_released_segment_is_final_once_newer_segment_exists() -> None:
    alone = look(at(1, RELEASED, Idx(offset=500)))
    assert phases(alone) == ["reading"]
    followed = look(at(1, RELEASED, Idx(offset=500)), at(2, LINKED), before=alone)
    assert followed.next_read == whole(1, expected_end=500)


def test_released_segment_without_index_is_read_and_drained() -> None:
    """A clean stop leaves a spare segment; it is final once the next start creates a newer one."""
    segments = look(at(1, LINKED), at(2, RELEASED))
    assert phases(segments) == ["waiting", "waiting"]
    segments = look(at(2, RELEASED), at(3, LINKED), before=segments)
    assert phases(segments) == ["final", "waiting"]
    assert read_all(segments, 28).drained == (name(2),)


def test_version_6_segment_is_final_immediately() -> None:
    for log in (RELEASED, LINKED):
        assert look(at(1, log, version=6)).next_read == whole(1, version=6)


def test_older_segment_without_updates_does_not_block_newer_segment() -> None:
    segments = look(at(1, LINKED), at(2, LINKED, Idx(offset=500)))
    assert segments.next_read == live(2, 500)
    segments = read_all(segments, 500)
    assert segments.drained == ()
    late = look(at(1, LINKED, COMPLETED), at(2, LINKED, Idx(offset=900)), before=segments)
    assert late.next_read == whole(1)


def test_blocked_segment_blocks_later_segments_only() -> None:
    segments = look(*(at(i, LINKED, COMPLETED) for i in (1, 2, 3)))
    held = changed(segments, name(2), lambda s: replace(s, is_blocked=True))
    assert [each.name for each in held if each.is_blocked] == [name(2)]
    assert held.next_read == whole(1)
    assert read_all(held, 100).next_read is None
    assert phases(held) == ["final", "blocked", "final"]


def test_relinked_completed_segment_is_drained_unread() -> None:
    ledger = NODE.finished(name(1))
    live = look(at(1, LINKED), ledger=ledger)
    assert (live.next_read, live.drained) == (None, ())
    again = look(at(1, RELEASED, COMPLETED), ledger=ledger)
    assert (again.next_read, again.drained) == (None, (name(1),))
    leftover = look(at(1, None, COMPLETED), ledger=ledger)
    assert leftover.drained == (name(1),)
    assert list(look(before=leftover, ledger=ledger)) == []


@pytest.mark.parametrize("idx", [Idx(offset=500), COMPLETED])
def test_updated_segment_deleted_unread_is_lost(idx: Idx) -> None:
    segments = look(at(1, LINKED, idx), at(2, LINKED))
    segments = look(at(2, LINKED), before=segments)
    assert [s.name for s in segments.lost] == [name(1)]
    assert phases(segments) == ["vanished", "waiting"]
    reported = changed(segments, name(1), lambda s: replace(s, is_reported=True))
    assert reported.lost == ()
    assert phases(look(at(2, LINKED), before=reported)) == ["waiting"]


def test_vanished_segment_is_read_after_a_replay() -> None:
    segments = read_all(look(at(1, LINKED, Idx(offset=500))), 500)
    segments = look(before=segments)
    assert phases(segments) == ["vanished"]
    back = look(at(1, RELEASED, COMPLETED), before=segments)
    assert back.next_read == whole(1, position=500, expected_end=500)
    assert back.lost == ()


def test_an_index_without_its_segment_is_a_loss() -> None:
    """A partly read segment that is missing at the start is lost too."""
    segments = look(at(1, None, Idx(offset=500)), at(2, LINKED))
    assert [s.name for s in segments.lost] == [name(1)]
    segments = look(at(2, LINKED), ledger=NODE.advanced(name(1), 400))
    assert [(s.name, s.read_position) for s in segments.lost] == [(name(1), 400)]


def test_open_segment_is_read_after_deletion() -> None:
    segments = look(at(1, LINKED, Idx(offset=500)), at(2, LINKED))
    segments = changed(segments, name(1), lambda s: replace(s, is_opened=True))
    gone = look(at(2, LINKED), before=segments)
    assert gone.next_read == live(1, 500)
    gone = read_all(gone, 500)
    assert gone.next_read is None
    assert gone.lost == ()
    # An update of a newer segment shows that the node closed this one: its chain is complete.
    closed = look(at(2, LINKED, Idx(offset=90)), before=gone)
    assert closed.next_read == whole(1, position=500, expected_end=500)
    assert read_all(closed, 800).drained == (name(1),)


def test_unreadable_segment_is_skipped_and_quarantined_when_final() -> None:
    segments = look(at(1, LINKED, Idx(offset=500)), at(2, LINKED, Idx(offset=90)))
    segments = changed(segments, name(1), lambda s: replace(s, is_unreadable=True))
    assert segments.next_read == live(2, 90)
    assert segments.drained == ()
    done = look(at(1, LINKED, COMPLETED), at(2, LINKED, Idx(offset=90)), before=segments)
    assert done.drained == (name(1),)


def test_short_read_is_repeated_only_on_retry() -> None:
    segments = look(at(1, LINKED, Idx(offset=500)))
    order = segments.next_read
    assert order is not None
    segments = changed(segments, name(1), lambda s: after_read(s, order, 300, at_end=True))
    observation = Observation((at(1, LINKED, Idx(offset=500)),))
    segments.observe(observation, NODE)
    assert segments.next_read is None
    segments.observe(observation, NODE, retry=True)
    assert segments.next_read == live(1, 500, position=300)


def test_readable_bytes_exclude_acknowledged_bytes() -> None:
    segments = look(
        at(1, LINKED, COMPLETED), at(2, LINKED, Idx(offset=500)), at(3, LINKED), ledger=NODE
    )
    assert segments.readable_bytes == 1048576 + 500
    segments = changed(segments, name(2), lambda s: after_acknowledgement(s, 200))
    assert (segments.readable_bytes, segments.count_by_phase[Phase.FINAL]) == (1048576 + 300, 1)


# Three scans of a recorded 5.0.9 node that is killed, started and stopped.
_KILLED = (at(940, LINKED, Idx(offset=126433)), at(941, LINKED))
_STARTED = (at(940, RELEASED, COMPLETED), at(7141, LINKED), at(7142, LINKED))
_STOPPED = (
    at(940, RELEASED, COMPLETED),
    at(7141, RELEASED, COMPLETED),
    at(7142, LINKED),
    at(7143, RELEASED),
)


def test_segments_of_killed_and_restarted_node_are_drained() -> None:
    segments = read_all(look(*_KILLED), 126433)
    assert phases(segments) == ["idle", "waiting"]
    segments = look(*_STARTED, before=segments)
    assert phases(segments) == ["final", "waiting", "waiting"]
    assert segments.lost == ()
    segments = look(*_STOPPED, before=read_all(segments, 126433))
    assert phases(segments) == ["drained", "final", "waiting", "waiting"]
    segments = read_all(segments, 47455)
    assert segments.drained == (name(940), name(7141))
    assert segments.next_read is None


NEWER = at(2, ObservedLog(1048576, 2), Idx(offset=100))
REPLAYED = at(1, ObservedLog(1048576, 2), Idx(offset=500))


@pytest.mark.parametrize(
    ("older", "newer", "kept"),
    [
        pytest.param(REPLAYED, NEWER, name(1), id="nobody knows whose link it is"),
        pytest.param(REPLAYED, at(2, LINKED), None, id="the node may still append to it"),
        pytest.param(at(1, RELEASED, Idx(offset=500)), NEWER, None, id="it is released"),
        pytest.param(at(1, LINKED, COMPLETED), NEWER, None, id="it is completed"),
        pytest.param(at(1, LINKED), NEWER, None, id="it has no change data"),
        pytest.param(
            at(1, ObservedLog(1048576, 2, is_in_commit_log=True), Idx(offset=500)),
            NEWER,
            None,
            id="the node has it",
        ),
    ],
)
def test_foreign_link_pins_replayed_segment(
    older: ObservedSegment, newer: ObservedSegment, kept: SegmentName | None
) -> None:
    assert look(older, newer).pinned_by_link == kept
