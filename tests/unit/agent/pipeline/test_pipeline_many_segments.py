"""The cost of one segment is independent of waiting segments; the tests count steps, not time."""

import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agent.cdc_raw.idx import NO_UPDATE, Idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import Observation, ObservedLog, ObservedSegment
from agent.pipeline.directory_scanner import DirectoryScanner
from agent.transfer.transfer import Transfer, TransferDeferredError
from tests.support.pipeline.fakes import FakeReader, Log
from tests.support.pipeline.harness import MakeHarness, PipelineHarness

_FIRST, _SEGMENTS, _WARM_UP = 100_000, 30, 10
_LATER, _EARLIER = 200_000, 1
LINKED = ObservedLog(size_bytes=100, link_count=2)
COMPLETED = Idx(completed=True, completed_at=70)


def seen(segment_id: int, idx: Idx = COMPLETED) -> ObservedSegment:
    return ObservedSegment(SegmentName(segment_id, 7), LINKED, idx)


WAITING: dict[str, Callable[[int], list[ObservedSegment]]] = {
    "newer complete ones": lambda count: [seen(_LATER + n) for n in range(count)],
    "older ones without an update": lambda count: [
        seen(_EARLIER + n, NO_UPDATE) for n in range(count)
    ],
    "older ones without records": lambda count: [
        seen(_EARLIER + n, Idx(offset=20)) for n in range(count)
    ],
}


def steps_of(work: Callable[[], None]) -> int:
    """Count the Python lines and calls that this thread runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def peak_bytes_of(work: Callable[[], None]) -> int:
    """Measure the peak allocation, which also reveals copies of all segments made in C."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


class ManySegments:
    """A pipeline over a simulated cdc_raw; the readers have no files."""

    def __init__(
        self, make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch, *waiting: ObservedSegment
    ) -> None:
        logs: dict[SegmentName, Log] = {}

        def open_reader(path: Path, name: SegmentName, position: int) -> FakeReader:
            if name not in logs:
                logs[name] = Log(name)
                if name.id >= _FIRST:
                    logs[name].add(1)
            return FakeReader(self.harness.raw, logs[name], position)

        own = [seen(_FIRST + n) for n in range(_SEGMENTS)]
        everything = sorted((*own, *waiting), key=lambda each: each.name)

        def scan(scanner: DirectoryScanner, is_completed: Any) -> Observation:
            scanner._next_s = scanner._clock() + 1e9
            scanner.is_requested = False
            return Observation(tuple(everything))

        monkeypatch.setattr(DirectoryScanner, "scan", scan)
        self.harness: PipelineHarness = make_harness(
            open_reader=open_reader, watermark_interval_ms=1000
        )

    @property
    def done(self) -> int:
        present = self.harness.pipeline.context.segments
        return sum(SegmentName(_FIRST + n, 7) not in present for n in range(_SEGMENTS))

    def begin(self) -> None:
        """Run the first scan; older segments are already read up to their index."""
        pipeline = self.harness.pipeline
        pipeline.tick()
        for segment in pipeline.context.segments.all():
            if segment.name.id < _FIRST and segment.idx.offset is not None:
                read = replace(segment, read_position=20, acknowledged_position=20, ended_at=20)
                pipeline.context.segments.put(read)

    def deliver(self, count: int) -> None:
        """Run until `count` segments have left cdc_raw."""
        for _ in range(100 * _SEGMENTS):
            self.harness.clock.advance(0.3)
            self.harness.pipeline.tick()
            if self.done >= count:
                return
        raise AssertionError(f"{self.done} of {count} segments have left")


@pytest.mark.parametrize(
    ("kind", "counts"),
    list(zip(WAITING, ((100, 1000, 10_000), (100, 2000), (100, 2000)), strict=True)),
)
def test_segment_cost_is_independent_of_waiting_segments(
    kind: str, counts: tuple[int, ...], make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, peaks = [], []
    for count in counts:
        many = ManySegments(make_harness, monkeypatch, *WAITING[kind](count))
        many.begin()
        many.deliver(_WARM_UP)
        steps.append(steps_of(partial(many.deliver, _SEGMENTS // 2)))
        # Other threads and the first use of a module allocate as well, but not each time.
        peaks.append(
            min(peak_bytes_of(partial(many.deliver, done)) for done in (20, 25, _SEGMENTS))
        )
    assert max(steps) <= 1.1 * min(steps), steps
    assert max(peaks) <= min(peaks) + 50_000, peaks


class Refusing(Transfer):
    """A full transfer that counts its attempts."""

    def __init__(self) -> None:
        self.is_full = True
        self.tries = 0

    def transfer(self, log: Path, idx: Path) -> None:
        self.tries += 1
        if self.is_full:
            raise TransferDeferredError("full")


def test_deferred_transfers_are_retried_in_bounded_rounds(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer = Refusing()
    many = ManySegments(make_harness, monkeypatch, *(seen(_EARLIER + n) for n in range(300)))
    many.harness.transfer = transfer
    many.harness.end()
    many.harness.start()
    many.harness.settle(10_000)
    assert (transfer.tries, many.done) == (300 + _SEGMENTS, 0)
    for _ in range(20):
        before = transfer.tries
        many.harness.pass_time(1.0)
        assert transfer.tries - before <= 64
    assert many.harness.view.removal_error
    transfer.is_full = False
    many.harness.pass_time(1.0)
    assert many.done == _SEGMENTS
    assert not many.harness.view.removal_error


def test_segments_finished_during_save_share_next_save(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = ManySegments(make_harness, monkeypatch)
    save, completed = many.harness.store.save, set[int]()

    def slow_save(values: Any, /) -> None:
        completed.add(list(values.values()).count("COMPLETED"))
        many.harness.clock.advance(0.1)
        save(values)

    monkeypatch.setattr(many.harness.store, "save", slow_save)
    many.harness.settle(1000)
    while many.done < _SEGMENTS:
        many.harness.pass_time(0.1)
    assert len(completed) < _SEGMENTS / 2


def test_failing_offset_save_is_retried_with_pauses(
    make_harness: MakeHarness,
) -> None:
    harness = make_harness()
    harness.store.is_failing = True
    harness.raw.completed(1, 1)
    harness.settle()
    assert harness.raw.names()
    assert harness.pipeline.loop.pause_s > 0.05
    harness.store.is_failing = False
    harness.pass_time(2)
    assert harness.raw.names() == set()
