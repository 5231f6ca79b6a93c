"""The window against a model that tracks every event individually."""

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sidecar.delivery.window import Progress, Window
from tests.support.segments.batches import ListBatch

MAX_EVENTS = 40
MAX_BYTES = 400


def one(number: int) -> range:
    """The run of a single number."""
    return range(number, number + 1)


@dataclass
class NaiveBatch:
    """A batch of the model: its first number and the position at which it ends."""

    source: str
    batch: ListBatch
    first: int


class WindowMachine(RuleBasedStateMachine):
    """Add batches of several sources and acknowledge events in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 100.0
        self.window: Window[str, int] = Window(MAX_EVENTS, MAX_BYTES, clock=lambda: self.now_s)
        self.batches: list[NaiveBatch] = []
        self.positions: dict[str, int] = {}
        self.acknowledged: set[int] = set()
        self.added_at_s: dict[int, float] = {}
        self.next_number = 0
        self.reached: dict[str, int] = {}

    def watermark(self) -> int:
        number = 0
        while number in self.acknowledged:
            number += 1
        return number

    def position(self, source: str) -> int | None:
        """Return the furthest acknowledged mutation end, computed by definition."""
        position = None
        for batch in self.batches:
            if batch.source != source or batch.first > self.watermark():
                continue
            done = min(self.watermark() - batch.first, len(batch.batch))
            if done or not len(batch.batch):
                position = batch.batch.position_after(done)
        return position

    @rule(
        source=st.sampled_from("abc"), mutations=st.lists(st.integers(1, 4), max_size=5).map(tuple)
    )
    def add(self, source: str, mutations: tuple[int, ...]) -> None:
        start = self.positions.get(source, 0)
        batch = ListBatch(start, mutations)
        numbered = self.window.add(source, batch)
        assert (numbered.first, numbered.stop) == (self.next_number, self.next_number + len(batch))
        self.batches.append(NaiveBatch(source, batch, self.next_number))
        for number in range(numbered.first, numbered.stop):
            self.added_at_s[number] = self.now_s
        self.positions[source] = batch.end
        self.next_number += len(batch)

    @rule(source=st.sampled_from("abc"), moved=st.integers(1, 5))
    def add_without_events(self, source: str, moved: int) -> None:
        """A batch without events also advances the position."""
        start = self.positions.get(source, 0) + 10 * moved
        self.window.add(source, ListBatch(start, ()))
        self.batches.append(NaiveBatch(source, ListBatch(start, ()), self.next_number))
        self.positions[source] = start

    @precondition(lambda self: self.next_number > 0)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        numbers = data.draw(st.lists(st.integers(0, self.next_number - 1), max_size=30))
        self.window.acknowledge(map(one, numbers))
        self.acknowledged.update(numbers)

    @precondition(lambda self: self.watermark() < self.next_number)
    @rule(data=st.data())
    def acknowledge_a_run(self, data: st.DataObject) -> None:
        """Acknowledge a run over any batches, including completed ones."""
        first = data.draw(st.integers(0, self.watermark()))
        run = range(first, data.draw(st.integers(first, self.next_number)))
        self.window.acknowledge([run])
        self.acknowledged.update(run)

    @rule(seconds=st.integers(1, 60))
    def wait(self, seconds: int) -> None:
        self.now_s += seconds

    @rule()
    def read_progress(self) -> None:
        progress = self.window.progress()
        assert len({each.source for each in progress}) == len(progress)
        for each in progress:
            assert each.position == self.position(each.source)
            self.reached[each.source] = each.position
        for source in self.positions:
            assert self.reached.get(source) == self.position(source)

    @invariant()
    def counts_agree(self) -> None:
        watermark = self.watermark()
        assert self.window.watermark == watermark
        assert self.window.next_number == self.next_number
        assert self.window.unacknowledged == self.next_number - len(self.acknowledged)
        held = [
            batch.batch
            for batch in self.batches
            if not set(range(batch.first, batch.first + len(batch.batch))) <= self.acknowledged
        ]
        assert self.window.buffered_bytes == sum(batch.size_bytes for batch in held)
        room = (
            max(0, MAX_EVENTS - (self.next_number - watermark)),
            max(0, MAX_BYTES - self.window.buffered_bytes),
        )
        assert self.window.room == room
        if watermark == self.next_number:
            assert self.window.oldest_age_s is None
        else:
            assert self.window.oldest_age_s == self.now_s - self.added_at_s[watermark]

    @invariant()
    def waiting_events_can_be_read(self) -> None:
        for number in range(self.next_number):
            if number in self.acknowledged:
                with pytest.raises(LookupError):
                    self.window.message(number)
            else:
                batch = next(b for b in reversed(self.batches) if b.first <= number)
                index = number - batch.first
                assert self.window.message(number) == batch.batch.messages(index, index + 1)[0]

    def teardown(self) -> None:
        self.window.acknowledge([range(self.next_number)])
        for each in self.window.progress():
            self.reached[each.source] = each.position
        assert self.reached == self.positions
        assert self.window.progress() == []


TestWindow = WindowMachine.TestCase
TestWindow.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


def test_empty_batches_use_no_memory_while_events_wait() -> None:
    window: Window[str, int] = Window(100, 1000)
    window.add("a", ListBatch(0, (1,)))
    for position in range(10, 100_000, 10):
        window.add("a", ListBatch(position, ()))
    assert window.batches == 1
    window.acknowledge([one(0)])
    assert window.progress() == [Progress("a", 99_990)]


def test_next_window_continues_the_numbering() -> None:
    window: Window[str, int] = Window(100, 1000, first_number=50)
    assert window.add("a", ListBatch(0, (2,))).first == 50
    window.acknowledge([one(3), range(50, 52)])
    assert (window.watermark, window.unacknowledged) == (52, 0)


def test_acknowledging_unknown_event_number_is_an_error() -> None:
    window: Window[str, int] = Window(100, 1000)
    window.add("a", ListBatch(0, (2,)))
    with pytest.raises(ValueError, match="event 2: no event has this number"):
        window.acknowledge([range(3)])


def test_window_without_capacity_is_rejected() -> None:
    with pytest.raises(ValueError, match="limits"):
        Window(0, 1)
