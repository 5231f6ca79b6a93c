"""Segments whose index is in `cdc_raw` before their file."""

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation, ObservedLog, ObservedSegment
from agent.segments.awaited_files import PATIENCE_S, AwaitedFiles
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import Segments, apply_observation, segments_from_offsets

LEDGER = SegmentOffsets("node")
ONE, TWO = SegmentName(id=1, version=7), SegmentName(id=2, version=7)
ALONE = ObservedSegment(ONE, None, Idx(offset=500))
WHOLE = ObservedSegment(ONE, ObservedLog(1048576, 2), Idx(offset=500))
NEWER = ObservedSegment(TWO, ObservedLog(1048576, 2), Idx(offset=90))


class Looks:
    """Looks of one agent, at times that the test names."""

    def __init__(self, ledger: SegmentOffsets = LEDGER) -> None:
        self.ledger = ledger
        self.segments: Segments = segments_from_offsets(ledger)
        self.awaited = AwaitedFiles()

    def look(self, now_s: float, *found: ObservedSegment) -> None:
        observation = Observation(found)
        self.awaited = self.awaited.after(observation, self.segments, self.ledger, now_s)
        self.segments = apply_observation(
            self.segments, observation, self.ledger, awaited=self.awaited.names
        )

    @property
    def lost(self) -> list[SegmentName]:
        return [segment.name for segment in self.segments.lost]


def test_the_file_is_waited_for_and_read_before_newer_segments() -> None:
    agent = Looks()
    agent.look(0.0, ALONE, NEWER)
    assert (agent.lost, agent.segments.next_read) == ([], None)
    assert agent.awaited.due_in_s(4.0) == PATIENCE_S - 4.0
    agent.look(4.0, WHOLE, NEWER)
    assert agent.segments.next_read is not None
    assert agent.segments.next_read.name == ONE
    assert (agent.lost, agent.awaited) == ([], AwaitedFiles())


def test_a_file_that_does_not_follow_is_a_loss_once_and_newer_segments_are_read() -> None:
    agent = Looks()
    for now_s in (0.0, PATIENCE_S / 2, PATIENCE_S, 3 * PATIENCE_S):
        agent.look(now_s, ALONE, NEWER)
        is_over = now_s >= PATIENCE_S
        assert agent.lost == ([ONE] if is_over else [])
        assert (agent.segments.next_read is not None) == is_over
    assert agent.awaited.due_in_s(0.0) is None


def test_an_index_that_disappears_before_its_file_came_is_a_loss_at_once() -> None:
    agent = Looks()
    agent.look(0.0, ALONE, NEWER)
    agent.look(1.0, NEWER)
    assert agent.lost == [ONE]


def test_a_file_that_was_there_is_not_waited_for() -> None:
    seen_before = Looks()
    seen_before.look(0.0, WHOLE, NEWER)
    seen_before.look(1.0, ALONE, NEWER)
    assert seen_before.lost == [ONE]
    begun_before = Looks(LEDGER.advanced(ONE, 400))
    begun_before.look(0.0, ALONE, NEWER)
    assert begun_before.lost == [ONE]


def test_the_index_of_a_finished_segment_is_not_waited_for() -> None:
    agent = Looks(LEDGER.finished(ONE))
    agent.look(0.0, ObservedSegment(ONE, None, Idx(completed=True)), NEWER)
    assert agent.awaited.names == frozenset()
    assert agent.segments.next_read is not None
