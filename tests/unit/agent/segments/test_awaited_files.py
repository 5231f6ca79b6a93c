"""Segments whose index is in `cdc_raw` before their file."""

from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation, ObservedLog, ObservedSegment
from agent.segments.awaited_files import PATIENCE_S, AwaitedFiles
from agent.segments.offsets import SegmentOffsets
from agent.segments.plan import Segments, segments_from_offsets

LEDGER = SegmentOffsets("node")
ONE, TWO = SegmentName(id=1, version=7), SegmentName(id=2, version=7)
ALONE = ObservedSegment(ONE, None, Idx(offset=500))
WHOLE = ObservedSegment(ONE, ObservedLog(1048576, 2), Idx(offset=500))
NEWER = ObservedSegment(TWO, ObservedLog(1048576, 2), Idx(offset=90))


class Looks:
    """Scans of one agent at given times."""

    def __init__(self, ledger: SegmentOffsets = LEDGER) -> None:
        self.ledger = ledger
        self.segments: Segments = segments_from_offsets(ledger)
        self.awaited = AwaitedFiles()

    def look(self, now_s: float, *found: ObservedSegment) -> None:
        observation = Observation(found)
        self.awaited = self.awaited.after(observation, self.segments, self.ledger, now_s)
        self.segments.observe(observation, self.ledger, awaited=self.awaited.names)

    @property
    def lost(self) -> list[SegmentName]:
        return [segment.name for segment in self.segments.lost]


def test_awaited_file_is_read_before_newer_segments() -> None:
    agent = Looks()
    agent.look(0.0, ALONE, NEWER)
    assert (agent.lost, agent.segments.next_read) == ([], None)
    assert agent.awaited.due_in_s(4.0) == PATIENCE_S - 4.0
    agent.look(4.0, WHOLE, NEWER)
    assert agent.segments.next_read is not None
    assert (agent.segments.next_read.name, agent.lost, agent.awaited) == (ONE, [], AwaitedFiles())


def test_index_deleted_before_its_file_arrives_is_immediate_loss() -> None:
    agent = Looks()
    agent.look(0.0, ALONE, NEWER)
    agent.look(1.0, NEWER)
    assert agent.lost == [ONE]


def test_known_file_is_not_awaited_after_deletion() -> None:
    seen_before = Looks()
    seen_before.look(0.0, WHOLE, NEWER)
    seen_before.look(1.0, ALONE, NEWER)
    assert seen_before.lost == [ONE]
    begun_before = Looks(LEDGER.advanced(ONE, 400))
    begun_before.look(0.0, ALONE, NEWER)
    assert begun_before.lost == [ONE]


def test_file_of_finished_segment_is_not_awaited() -> None:
    agent = Looks(LEDGER.finished(ONE))
    agent.look(0.0, ObservedSegment(ONE, None, Idx(completed=True)), NEWER)
    assert agent.awaited.names == frozenset()
    assert agent.segments.next_read is not None


INDEXES = [Idx(), Idx(offset=500), Idx(completed=True, completed_at=900)]


class Restored:
    """The files of one segment, in the order in which a restore creates them."""

    def __init__(self) -> None:
        self.log: ObservedLog | None = None
        self.index: int | None = None
        self.was_seen = False
        self.alone_since_s: float | None = None

    def observed(self, name: SegmentName) -> list[ObservedSegment]:
        if self.log is None and self.index is None:
            return []
        idx = Idx() if self.index is None else INDEXES[self.index]
        return [ObservedSegment(name, self.log, idx)]

    def look(self, now_s: float) -> bool:
        """Return whether the segment counts as lost from this scan on."""
        self.was_seen |= self.log is not None
        is_alone = self.log is None and bool(self.index)
        if is_alone and self.alone_since_s is None:
            self.alone_since_s = now_s
        return (
            is_alone and self.alone_since_s is not None and now_s - self.alone_since_s >= PATIENCE_S
        )


@given(
    st.lists(
        st.tuples(st.sampled_from(("log", "index", "look")), st.sampled_from((ONE, TWO)))
        | st.tuples(st.just("wait"), st.integers(1, 6)),
        max_size=40,
    )
)
def test_files_may_appear_in_any_order_within_ten_seconds(
    steps: list[tuple[str, SegmentName | int]],
) -> None:
    agent, now_s = Looks(), 0.0
    files = {ONE: Restored(), TWO: Restored()}
    for kind, what in (*steps, ("look", ONE)):
        if isinstance(what, int):
            now_s += what
        elif kind == "log":
            files[what].log = ObservedLog(1048576, 1)
        elif kind == "index":
            before = files[what].index
            files[what].index = 0 if before is None else min(2, before + 1)
        else:
            lost = [name for name, each in files.items() if each.look(now_s)]
            agent.look(now_s, *(seen for name in files for seen in files[name].observed(name)))
            assert agent.lost == lost
            order = agent.segments.next_read
            for name, each in files.items():
                is_waited_for = name in agent.awaited.names
                assert not is_waited_for or order is None or order.name < name
                assert is_waited_for == (bool(each.index) and each.log is None and name not in lost)
