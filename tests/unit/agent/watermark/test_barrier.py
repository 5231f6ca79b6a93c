"""When everything that was synced at a scan is acknowledged."""

from dataclasses import replace

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.segments.plan import Segments
from agent.segments.state import Segment
from agent.watermark.barrier import barrier_at

NAME = SegmentName(1, 7)


def segments(*each: Segment) -> Segments:
    return Segments(each)


def test_nothing_is_waited_for_without_an_update_of_the_index() -> None:
    assert barrier_at(segments(Segment(NAME))).is_reached(segments(Segment(NAME)))


def test_an_active_segment_is_reached_at_its_index() -> None:
    active = Segment(NAME, idx=Idx(offset=50), acknowledged_position=40)
    barrier = barrier_at(segments(active))
    assert not barrier.is_reached(segments(active))
    # What the node syncs later does not matter.
    later = replace(active, idx=Idx(offset=90), acknowledged_position=50)
    assert barrier.is_reached(segments(later))


def test_a_final_segment_is_reached_when_it_is_drained_or_gone() -> None:
    final = Segment(NAME, idx=Idx(completed=True), is_final=True, read_position=90)
    barrier = barrier_at(segments(final))
    assert not barrier.is_reached(segments(final))
    read = replace(final, is_read_to_end=True, acknowledged_position=80)
    assert not barrier.is_reached(segments(read))
    assert barrier.is_reached(segments(replace(read, acknowledged_position=90)))
    assert barrier.is_reached(segments())


def test_a_lost_segment_is_reached_when_its_loss_is_recorded() -> None:
    lost = Segment(NAME, idx=Idx(offset=50), is_lost=True)
    barrier = barrier_at(segments(replace(lost, is_lost=False)))
    assert not barrier.is_reached(segments(lost))
    assert barrier.is_reached(segments(replace(lost, is_reported=True)))
