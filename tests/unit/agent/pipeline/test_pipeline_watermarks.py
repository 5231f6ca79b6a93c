"""Watermarks of a pipeline never pass an unacknowledged write."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.watermark.coverage import Coverage
from sidecar.errors import SinkRestartError
from sidecar.events import NumberedBatch
from sidecar.sinks.base import DeliveryResult
from tests.support.node.fake_watermarks import SYNC_LAG_MS, TOPIC, watermarks
from tests.support.pipeline.fakes import Log, event_id
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.sinks.memory_sink import MemorySink

INTERVAL_S = 10.0


def watched(make_harness: MakeHarness, **settings: Any) -> PipelineHarness:
    return make_harness(watermark_interval_ms=round(INTERVAL_S * 1000), **settings)


def begun(make_harness: MakeHarness) -> tuple[PipelineHarness, int]:
    """A pipeline after one interval, and the end of its last watermark's coverage."""
    harness = watched(make_harness)
    harness.settle()
    harness.pass_time(INTERVAL_S)
    return harness, watermarks(harness.sink)[-1]["complete_until_ms"]


def codes(value: dict[str, Any]) -> list[str]:
    return [obstacle["code"] for obstacle in value["obstacles"]]


def test_watermarks_are_off_by_default(make_harness: MakeHarness) -> None:
    harness = make_harness()
    harness.raw.segment(1, 1, idx="30")
    harness.settle()
    assert harness.pipeline.loop.pause_s > 0
    assert [topic for _, (topic, *_) in harness.sink.messages] == ["ks.t"]


def test_watermark_follows_clock_while_all_events_are_acknowledged(
    make_harness: MakeHarness,
) -> None:
    harness = watched(make_harness)
    harness.raw.segment(1, 2, idx="30")
    harness.settle()
    (first,) = watermarks(harness.sink)
    assert first["complete_since_ms"] == first["complete_until_ms"] == 1_000_000
    harness.pass_time(INTERVAL_S)
    value = watermarks(harness.sink)[-1]
    assert value["complete_until_ms"] == 1_010_000 - SYNC_LAG_MS
    assert (value["obstacles"], value["gaps"]) == ([], [])
    assert harness.metrics.watermark._value.get() == 1008.0


def test_each_interval_sends_one_watermark(make_harness: MakeHarness) -> None:
    harness = watched(make_harness)
    harness.settle()
    for _ in range(5):
        harness.pass_time(INTERVAL_S / 2)
    assert len(watermarks(harness.sink)) == 3


def test_watermark_waits_for_unacknowledged_event(
    make_harness: MakeHarness,
) -> None:
    harness = watched(make_harness, sink=MemorySink(automatic=False))
    harness.settle()
    harness.sink.acknowledge()
    harness.pass_time(INTERVAL_S)
    harness.sink.acknowledge()
    log = harness.raw.segment(1, 1, idx="30")
    harness.pass_time(INTERVAL_S)
    before = watermarks(harness.sink)[-1]["complete_until_ms"]
    harness.pass_time(INTERVAL_S)
    blocked = watermarks(harness.sink)[-1]
    assert (blocked["complete_until_ms"], codes(blocked)) == (before, ["not_delivered"])
    harness.acknowledge()
    assert harness.node.stored is not None
    assert harness.node.stored.until_ms > before
    assert log.reads > 0


def test_an_unavailable_node_stops_the_watermark(make_harness: MakeHarness) -> None:
    harness, before = begun(make_harness)
    harness.node.is_running = False
    harness.pass_time(INTERVAL_S)
    value = watermarks(harness.sink)[-1]
    assert (value["complete_until_ms"], codes(value)) == (before, ["node_unavailable"])
    assert "does not answer" in harness.view.watermark_error


def test_the_watermark_waits_for_a_scan_after_the_probe(make_harness: MakeHarness) -> None:
    harness, before = begun(make_harness)
    directory = harness.raw.directory
    away = directory.rename(directory.with_name("away"))
    harness.clock.advance(INTERVAL_S)
    for _ in range(5):
        harness.tick()
    harness.clock.advance(INTERVAL_S)
    harness.tick()
    harness.tick()
    value = watermarks(harness.sink)[-1]
    assert (value["complete_until_ms"], codes(value)) == (before, ["cdc_raw_unreadable"])
    away.rename(directory)
    harness.settle()
    assert harness.node.stored is not None
    assert harness.node.stored.until_ms > before


def test_node_restart_is_a_gap_after_agent_restart(
    make_harness: MakeHarness,
) -> None:
    harness, before = begun(make_harness)
    harness.kill()
    harness.node.generation = 2
    harness.pass_time(INTERVAL_S)
    gap = {"from_ms": before, "to_ms": 1_020_000, "cause": "node_restart"}
    assert watermarks(harness.sink)[-1]["gaps"] == [gap]


def test_quarantined_segment_stops_the_watermark(
    make_harness: MakeHarness,
) -> None:
    harness, before = begun(make_harness)
    log = harness.raw.completed(1).add(1, is_damaged=True).add(1)
    harness.pass_time(INTERVAL_S)
    harness.pass_time(INTERVAL_S)
    value = watermarks(harness.sink)[-1]
    assert (value["complete_until_ms"], codes(value)) == (before, ["segment_quarantined"])
    assert log.name.log in value["obstacles"][0]["message"]


def test_a_rejected_watermark_is_dropped(make_harness: MakeHarness) -> None:
    harness = watched(make_harness, sink=MemorySink(automatic=False))
    harness.settle()
    (number,) = harness.sink.waiting
    harness.sink.fail(number, "too large")
    harness.settle()
    assert harness.quarantined() == set()
    harness.pass_time(INTERVAL_S)
    assert len(watermarks(harness.sink)) == 2


class RecordingSink(MemorySink):
    """A sink that acknowledges on request and records acknowledged messages."""

    def __init__(self, safe: list[tuple[str, bytes]]) -> None:
        super().__init__(automatic=False)
        self.safe = safe
        self._sent: dict[int, tuple[str, bytes]] = {}

    def send(self, numbered: NumberedBatch[Any, Any], start: int, deadline_s: float) -> int:
        taken = super().send(numbered, start, deadline_s)
        for index in range(start, start + taken):
            topic, _, value, _, _ = numbered.batch.messages(index, index + 1)[0]
            self._sent[numbered.first + index] = (topic, value or b"")
        return taken

    def poll(self, timeout_s: float) -> DeliveryResult:
        result = super().poll(timeout_s)
        self.safe += [self._sent[number] for run in result.acknowledged for number in run]
        return result


class Model:
    """A node with its log, its agent, and the fate of each write."""

    def __init__(self, directory: Path) -> None:
        self.safe: list[tuple[str, bytes]] = []
        self.harness = PipelineHarness(
            directory, watermark_interval_ms=1000, sink=RecordingSink(self.safe)
        )
        self.node = self.harness.node
        self.arrived_ms: dict[str, int] = {}
        """When each write arrived in the log."""
        self.last_id = 0
        self.new_segment()

    def new_segment(self) -> None:
        self.last_id += 1
        self.log: Log = self.harness.raw.segment(self.last_id)
        self.synced_end = 0
        self.unsynced_since_ms: int | None = None

    def write(self) -> None:
        if not self.node.is_running:
            return
        self.log.add(1)
        self.arrived_ms[event_id(self.log.name, self.log.records[-1], 0)] = self.node.now_ms()
        if self.unsynced_since_ms is None:
            self.unsynced_since_ms = self.node.now_ms()

    def sync(self) -> None:
        if self.node.is_running and self.unsynced_since_ms is not None:
            self.harness.raw.index(self.log, self.log.end)
            self.synced_end = self.log.end
            self.unsynced_since_ms = None

    def roll(self) -> None:
        """Sync and complete the full segment, and begin another one."""
        if not self.node.is_running or not self.log.records:
            return
        self.harness.raw.index(self.log, f"{self.log.end}\nCOMPLETED")
        self.harness.raw.release(self.log)
        self.new_segment()

    def crash(self) -> None:
        """Lose the unsynced end of the log."""
        if self.node.is_running:
            self.node.is_running = False
            del self.log.records[
                next(
                    (i for i, r in enumerate(self.log.records) if r.end > self.synced_end),
                    len(self.log.records),
                ) :
            ]
            self.unsynced_since_ms = None

    def start(self) -> None:
        """The node replays its log and writes a new segment."""
        if not self.node.is_running:
            self.node.is_running = True
            self.node.generation += 1
            if self.synced_end:
                self.harness.raw.index(self.log, "100\nCOMPLETED")
            self.harness.raw.release(self.log)
            self.new_segment()

    def pass_time(self, milliseconds: int) -> None:
        """Advance the clock; the node syncs at the latest after its sync lag."""
        self.harness.clock.advance(milliseconds / 1000)
        since_ms = self.unsynced_since_ms
        if since_ms is not None and self.node.now_ms() - since_ms >= SYNC_LAG_MS - 1000:
            self.sync()

    def run_agent(self, ticks: int) -> None:
        for _ in range(ticks):
            self.harness.tick()
            self.verify()

    def acknowledge(self, rng: random.Random) -> None:
        waiting = list(self.harness.sink.waiting)
        self.harness.sink.acknowledge(sorted(rng.sample(waiting, rng.randint(0, len(waiting)))))

    def kill_agent(self) -> None:
        self.harness.kill(RecordingSink(self.safe))

    def restart_sink(self) -> None:
        self.harness.sink.raise_next(SinkRestartError("lost"))

    def verify(self) -> None:
        """Every write that arrived in the covered time is acknowledged."""
        coverage: Coverage | None = self.node.stored
        if coverage is None:
            return
        safe = {value.decode().strip('"') for topic, value in self.safe if topic != TOPIC}
        for name, arrived_ms in self.arrived_ms.items():
            is_covered = coverage.since_ms < arrived_ms <= coverage.until_ms and not any(
                gap.from_ms < arrived_ms <= gap.to_ms for gap in coverage.gaps
            )
            assert not is_covered or name in safe, (name, arrived_ms, coverage)


ACTIONS = ("write", "write", "write", "sync", "roll", "crash", "start", "kill_agent")


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from((*ACTIONS, "acknowledge", "acknowledge", "restart_sink", "pass")),
            st.integers(0, 900),
            st.integers(0, 4),
        ),
        min_size=10,
        max_size=80,
    ),
    st.randoms(use_true_random=False),
)
def test_watermark_never_passes_unacknowledged_write(
    story: list[tuple[str, int, int]], rng: random.Random
) -> None:
    with TemporaryDirectory() as directory:
        model = Model(Path(directory))
        try:
            for action, milliseconds, ticks in story:
                match action:
                    case "acknowledge":
                        model.acknowledge(rng)
                    case "pass":
                        pass
                    case _:
                        getattr(model, action)()
                model.pass_time(milliseconds)
                model.run_agent(ticks)
        finally:
            model.harness.end()
