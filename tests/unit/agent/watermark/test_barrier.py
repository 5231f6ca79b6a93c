"""When everything that was synced at a scan is acknowledged."""

from dataclasses import replace

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.segments.plan import Segments
from agent.segments.state import Segment
from agent.watermark.barrier import barrier_at

NAME = SegmentName(1, 7)


def test_nothing_is_waited_for_without_an_update_of_the_index() -> None:
    assert barrier_at(Segments([Segment(NAME)])).is_reached(Segments([Segment(NAME)]))


def test_an_active_segment_is_reached_at_its_index() -> None:
    active = Segment(NAME, idx=Idx(offset=50), acknowledged_position=40)
    barrier = barrier_at(Segments([active]))
    assert not barrier.is_reached(Segments([active]))
    # What the node syncs later does not matter.
    later = replace(active, idx=Idx(offset=90), acknowledged_position=50)
    assert barrier.is_reached(Segments([later]))


def test_a_final_segment_is_reached_when_it_is_drained_or_gone() -> None:
    final = Segment(NAME, idx=Idx(completed=True), is_final=True, read_position=90)
    barrier = barrier_at(Segments([final]))
    assert not barrier.is_reached(Segments([final]))
    read = replace(final, is_read_to_end=True, acknowledged_position=80)
    assert not barrier.is_reached(Segments([read]))
    assert barrier.is_reached(Segments([replace(read, acknowledged_position=90)]))
    assert barrier.is_reached(Segments([]))


def test_a_lost_segment_is_reached_when_its_loss_is_recorded() -> None:
    lost = Segment(NAME, idx=Idx(offset=50), is_lost=True)
    barrier = barrier_at(Segments([replace(lost, is_lost=False)]))
    assert not barrier.is_reached(Segments([lost]))
    assert barrier.is_reached(Segments([replace(lost, is_reported=True)]))
