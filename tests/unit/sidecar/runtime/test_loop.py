"""The loop over a source that the test controls."""

from collections import deque

import pytest

from sidecar.dead_letters.dead_letter import RejectedEvent
from sidecar.delivery.delivery import Delivery
from sidecar.errors import AccessDeniedError, SinkRestartError
from sidecar.metrics import DeliveryMetrics
from sidecar.process.lifecycle import Stop
from sidecar.runtime.loop import Loop, Wakeup
from tests.support.segments.batches import POSITION_STEP, UndatedBatch
from tests.support.sinks.memory_sink import MemorySink


class Source:
    """A source that reads the given batches and records the loop's calls."""

    is_finished = False
    is_reading = False
    may_read = True

    def __init__(self, *sizes: int) -> None:
        """`sizes` are the numbers of events per batch."""
        ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
        self.unread = deque(
            UndatedBatch(POSITION_STEP * (end - size), (1,) * size)
            for size, end in zip(sizes, ends, strict=True)
        )
        self.taken: list[UndatedBatch] = []
        self.reached = 0
        self.letters: list[str] = []
        self.calls: list[str] = []
        self.is_stopping = False
        self.can_keep = True
        self.delivery: Delivery[str, int]

    def begin(self) -> None:
        self.calls.append("begin")

    def prepare(self) -> bool:
        return False

    def read(self) -> bool:
        if not self.unread or not self.delivery.is_open:
            return False
        batch = self.unread.popleft()
        self.taken.append(batch)
        self.delivery.add("source", batch, batch.start)
        return True

    def note_progress(self) -> bool:
        moved = self.delivery.progress()
        for progress in moved:
            self.reached = progress.position
        return bool(moved)

    def keep_dead_letter(self, rejected: RejectedEvent[str, int]) -> bool:
        if self.can_keep:
            self.letters.append(rejected.reason)
        return self.can_keep

    def save(self) -> None:
        self.calls.append("save")

    def save_last(self) -> None:
        self.calls.append("save_last")

    def dispose(self) -> bool:
        return False

    def rewind(self) -> None:
        self.calls.append("rewind")
        self.unread.extendleft(reversed(self.taken))
        self.taken = []

    def due_in_s(self) -> float:
        return 0.5

    def publish(self, *, is_stopping: bool) -> None:
        self.is_stopping = is_stopping

    def close(self) -> None:
        self.calls.append("close")


class LoopHarness:
    """A loop with its parts."""

    def __init__(
        self, source: Source, *, automatic: bool = True, waits_when_denied: bool = True
    ) -> None:
        self.now_s = 0.0
        self.source = source
        self.sink = MemorySink(automatic=automatic)
        metrics = DeliveryMetrics("agent", "1")
        source.delivery = Delivery(self.sink, 100, 10_000, metrics=metrics, clock=self.clock)
        self.loop = Loop(
            source,
            source.delivery,
            Wakeup(),
            metrics=metrics,
            waits_when_denied=waits_when_denied,
            clock=self.clock,
        )

    def clock(self) -> float:
        return self.now_s

    def settle(self) -> None:
        for _ in range(50):
            if not self.loop.tick():
                return
        raise AssertionError("the loop never rests")


def test_read_batches_are_delivered_and_positions_saved() -> None:
    harness = LoopHarness(Source(2, 3))
    harness.settle()
    assert harness.source.reached == 5 * POSITION_STEP
    assert "save" in harness.source.calls
    assert harness.loop.pause_s == 0.5
    harness.loop.close(1.0)
    assert harness.source.calls[-2:] == ["save_last", "close"]


def test_unstorable_dead_letter_stops_the_position() -> None:
    source = Source(3)
    harness = LoopHarness(source, automatic=False)
    harness.settle()
    source.can_keep = False
    harness.sink.fail(1, "too large")
    harness.sink.acknowledge()
    harness.settle()
    assert (source.reached, source.letters) == (POSITION_STEP, [])
    source.can_keep = True
    harness.settle()
    assert (source.reached, source.letters) == (3 * POSITION_STEP, ["too large"])
    harness.loop.close(1.0)


def test_sink_restart_resends_unacknowledged_events() -> None:
    source = Source(2)
    harness = LoopHarness(source, automatic=False)
    harness.settle()
    harness.sink.raise_next(SinkRestartError("events were lost"))
    harness.settle()
    assert "rewind" in source.calls and not source.delivery.is_open
    harness.now_s += 60.0
    harness.settle()
    harness.sink.acknowledge()
    harness.settle()
    assert source.reached == 2 * POSITION_STEP
    harness.loop.close(1.0)


def test_access_denied_ends_the_loop_without_saving() -> None:
    harness = LoopHarness(Source(1), automatic=False, waits_when_denied=False)
    harness.settle()
    harness.now_s += 2.0
    harness.sink.raise_next(AccessDeniedError("wrong password"))
    with pytest.raises(AccessDeniedError, match="wrong password"):
        harness.settle()
    harness.loop.abandon()
    assert "save_last" not in harness.source.calls


def test_loop_stop_drains_and_saves() -> None:
    source = Source(2)
    harness = LoopHarness(source)
    harness.settle()
    stop = Stop(1000)
    stop.request()
    harness.loop.run(stop)
    stop.close()
    assert source.is_stopping
    assert "begin" in source.calls
    assert source.calls[-2:] == ["save_last", "close"]
