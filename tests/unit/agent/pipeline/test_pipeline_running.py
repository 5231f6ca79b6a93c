"""Normal operation of the pipeline: delivery, status, and wake-ups and shutdown of its threads."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.errors import AccessDeniedError
from sidecar.process.lifecycle import Stop
from sidecar.runtime.loop import Wakeup
from tests.support.pipeline.fakes import FakeBatch, FakeReader, LateExecutor, Log, Raw
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.servers.processes import DEADLINE_S
from tests.support.sinks.memory_sink import MemorySink

NEVER_MS = 100 * 365 * 24 * 60 * 60 * 1000


class TellingSink(MemorySink):
    """A sink that notifies waiters of every send."""

    def __init__(self, *, automatic: bool = True) -> None:
        super().__init__(automatic=automatic)
        self.changed = threading.Condition()

    def send(self, *arguments: object) -> int:
        with self.changed:
            taken = super().send(*arguments)  # type: ignore[arg-type]
            self.changed.notify_all()
            return taken

    def wait_for(self, events: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: len(self.messages) >= events, DEADLINE_S)


@contextmanager
def running(
    harness: PipelineHarness, shutdown_timeout_ms: int = 20_000
) -> Iterator[tuple[Stop, Future[None]]]:
    """Run a pipeline in a thread. Leaving the block stops the pipeline and raises its error."""
    harness.pipeline.loop.abandon()
    harness.start(ThreadPoolExecutor(1), time.monotonic)
    stop, thread = Stop(shutdown_timeout_ms), ThreadPoolExecutor(1)
    run = thread.submit(harness.pipeline.run, stop)
    thread.shutdown(wait=False)
    try:
        yield stop, run
    finally:
        stop.request()
        run.exception(DEADLINE_S)
        stop.close()
    run.result()


def test_index_update_wakes_the_pipeline(make_harness: MakeHarness) -> None:
    sink = TellingSink()
    harness = make_harness(sink=sink, poll_interval_ms=NEVER_MS)
    log = harness.raw.segment(1, 1, 1, 1)
    with running(harness):
        for number, record in enumerate(log.records, start=1):
            harness.raw.index(log, record.end)
            assert sink.wait_for(number)
        harness.raw.segment(2)
    assert (harness.collect(), harness.store.values[log.name.log]) == (log.ids(), str(log.end))


def test_loop_without_work_waits(harness: PipelineHarness) -> None:
    log = harness.raw.live(1, 1)
    harness.settle()
    assert not harness.pipeline.tick()
    assert harness.pipeline.loop.pause_s == 1.0
    harness.sink.go_away("no broker answers")
    log.add(1)
    harness.raw.index(log, log.end)
    harness.settle()
    for _ in range(10):
        harness.pipeline.tick()
    assert harness.pipeline.loop.pause_s == 0.1


def test_stop_drains_read_events(make_harness: MakeHarness) -> None:
    sink = TellingSink(automatic=False)
    harness = make_harness(sink=sink, window_max_events=40)
    log = harness.raw.completed(1, *[1] * 100)
    with running(harness) as (stop, _):
        assert sink.wait_for(40)
        stop.request()
        with sink.changed:
            sink.acknowledge()
    assert len(harness.collect()) == 40
    assert harness.store.values[log.name.log] == str(log.records[39].end)
    assert not sink.is_open
    assert harness.view.is_stopping


def test_restart_resends_events_unacknowledged_at_stop_deadline(make_harness: MakeHarness) -> None:
    sink = TellingSink(automatic=False)
    harness = make_harness(sink=sink)
    log = harness.raw.completed(1, 1, 1, 1)
    with running(harness, shutdown_timeout_ms=50):
        assert sink.wait_for(3)
        with sink.changed:
            sink.acknowledge(sink.waiting[:1])
    assert harness.store.values[log.name.log] == str(log.records[0].end)
    assert harness.collect() == log.ids()
    harness.kill(sink=MemorySink())
    harness.settle()
    assert harness.collect() == log.ids() + log.ids()[1:]


def test_drained_segment_is_archived_at_stop(make_harness: MakeHarness) -> None:
    sink = TellingSink(automatic=False)
    harness = make_harness(sink=sink)
    log = harness.raw.completed(1, 1, 1, 1)
    with running(harness) as (stop, _):
        assert sink.wait_for(3)
        stop.request()
        with sink.changed:
            sink.acknowledge()
    assert harness.archived() == {log.name.log, log.name.idx}
    assert harness.store.values[log.name.log] == "COMPLETED"


def test_access_denied_ends_run_with_saved_offset(make_harness: MakeHarness) -> None:
    sink = TellingSink()
    harness = make_harness(sink=sink, waits_when_denied=False)
    log = harness.raw.live(1, 1, 1)
    with pytest.raises(AccessDeniedError), running(harness) as (_, run):
        assert sink.wait_for(2)
        sink.raise_next(AccessDeniedError("the login is refused"))
        harness.pipeline.wake()
        assert isinstance(run.exception(DEADLINE_S), AccessDeniedError)
    assert harness.store.values[log.name.log] == str(log.end)


def test_wakeup_ends_wait_and_tolerates_ring_after_close() -> None:
    wakeup = Wakeup()
    for _ in range(100_000):
        wakeup.ring()
    wakeup.wait(DEADLINE_S)
    thread = threading.Thread(target=wakeup.ring)
    thread.start()
    wakeup.wait(DEADLINE_S)
    thread.join()
    wakeup.close()
    wakeup.close()
    wakeup.ring()


def test_a_stop_request_ends_a_wait() -> None:
    wakeup, stop = Wakeup(), Stop(1000)
    try:
        stop.request()
        wakeup.wait(DEADLINE_S, stop.fileno())
    finally:
        wakeup.close()
        stop.close()


def test_backlog_is_delivered_in_segment_order(make_harness: MakeHarness, tmp_path: Path) -> None:
    sink = TellingSink()
    harness = make_harness(sink=sink, window_max_events=100, batch_max_events=7)
    logs: list[Log] = [harness.raw.completed(number, *[3] * 20) for number in range(1, 11)]
    with running(harness):
        assert sink.wait_for(600)
    assert harness.collect() == [event for log in logs for event in log.ids()]


class EndlessReader(FakeReader):
    """A reader that blocks until interrupted, as on a hanging file system."""

    def __init__(self, raw: Raw, log: Log, position: int) -> None:
        super().__init__(raw, log, position)
        self.begun, self.interrupted = threading.Event(), threading.Event()

    def interrupt(self) -> None:
        self.interrupted.set()

    def read(self, *_: object, **__: object) -> FakeBatch:
        self.begun.set()
        self.interrupted.wait(DEADLINE_S)
        raise OSError("reading was interrupted")


def endless(make_harness: MakeHarness) -> tuple[PipelineHarness, EndlessReader]:
    """A pipeline whose only segment never ends."""
    readers: list[EndlessReader] = []
    harness = make_harness(open_reader=lambda *_: readers[0], poll_interval_ms=NEVER_MS)
    readers.append(EndlessReader(harness.raw, harness.raw.completed(1, 1), 0))
    return harness, readers[0]


def test_a_stop_interrupts_the_running_read(make_harness: MakeHarness) -> None:
    harness, reader = endless(make_harness)
    with running(harness) as (stop, _):
        assert reader.begun.wait(DEADLINE_S)
        stop.request()
    assert reader.interrupted.is_set()


def test_abandoned_read_worker_interrupts_running_read(make_harness: MakeHarness) -> None:
    """Otherwise the next read would wait for the abandoned one."""
    harness, reader = endless(make_harness)
    with running(harness):
        assert reader.begun.wait(DEADLINE_S)
        harness.pipeline.context.read_worker.abandon()
        assert reader.interrupted.is_set()


def test_endless_read_is_stall_although_loop_continues(
    make_harness: MakeHarness,
) -> None:
    worker = LateExecutor()
    harness = make_harness(make_worker=lambda: worker)
    harness.raw.completed(1, 1)
    harness.settle()
    began_s = harness.clock.now_s
    for _ in range(10):
        harness.pass_time(50)
    assert harness.pipeline.loop.last_tick_s == harness.clock.now_s
    assert harness.pipeline.last_tick_s == began_s
    while worker.work():
        harness.settle()
    assert harness.pipeline.last_tick_s == harness.clock.now_s


def test_completed_segments_are_delivered_in_order_and_archived(harness: PipelineHarness) -> None:
    late, log = harness.raw.completed(12, 3), harness.raw.completed(9, 3, 1, 0, 25, 2)
    harness.settle()
    assert (harness.collect(), harness.raw.names()) == (log.ids() + late.ids(), set())
    assert harness.archived() == {log.name.log, log.name.idx, late.name.log, late.name.idx}
    stored = {"node.id": "node-1", log.name.log: "COMPLETED", late.name.log: "COMPLETED"}
    assert harness.store.values == stored
    assert harness.view.lag_bytes == harness.view.delivery.unacknowledged_events == 0


def test_live_segment_is_read_up_to_each_index_update(harness: PipelineHarness) -> None:
    log = harness.raw.segment(1, 2, 2, 2, 2)
    harness.settle()
    assert harness.phases == ["waiting"]
    harness.raw.index(log, log.records[1].end)
    harness.settle()
    assert (harness.collect(), harness.phases) == (log.ids()[:4], ["idle"])
    assert harness.store.values[log.name.log] == str(log.records[1].end)
    harness.raw.index(log, log.records[2].end)
    harness.settle()
    assert harness.collect() == log.ids()[:6]
    harness.raw.index(log, f"{log.end}\nCOMPLETED")
    harness.settle()
    assert (harness.collect(), harness.raw.names()) == (log.ids(), set())


def test_unavailable_sink_pauses_reading_and_recovers(make_harness: MakeHarness) -> None:
    harness = make_harness(window_max_events=40, batch_max_events=10)
    log = harness.raw.completed(1, *[1] * 100)
    harness.sink.go_away("no broker answers")
    harness.settle()
    reads = log.reads
    assert reads <= 4
    for _ in range(5):
        harness.pass_time(1)
    assert log.reads == reads
    assert not harness.view.delivery.sink.healthy
    assert "no broker" in harness.view.delivery.sink.message
    harness.sink.come_back()
    harness.pass_time(1)
    assert harness.collect() == log.ids()
    assert harness.view.delivery.sink.healthy


def test_offset_advances_only_at_mutation_boundaries(held: PipelineHarness) -> None:
    log = held.raw.live(1, 3, 2, 2)
    held.settle()
    numbers = list(held.sink.waiting)
    for taken, expected in (
        (numbers[3:5], None),
        (numbers[0:2], None),
        (numbers[2:3], log.records[1].end),
        (numbers[6:7], log.records[1].end),
        (numbers[5:6], log.records[2].end),
    ):
        held.acknowledge(taken)
        stored = held.store.values.get(log.name.log)
        assert stored == (None if expected is None else str(expected))


def test_pipeline_waits_for_first_schema(harness: PipelineHarness) -> None:
    log = harness.raw.completed(1, 5)
    harness.schema.schema, harness.schema.next_schema = None, harness.schema.schema
    harness.settle()
    assert harness.collect() == []
    harness.schema.refresh("for the test")
    harness.settle()
    assert harness.collect() == log.ids()


def test_foreign_files_in_cdc_raw_remain_and_are_reported(harness: PipelineHarness) -> None:
    (harness.raw.directory / "CommitLog-17.log").write_text("legacy")
    harness.settle()
    assert harness.raw.names() == {"CommitLog-17.log"}
    assert harness.view.other_files == ("CommitLog-17.log",)


def test_missing_cdc_raw_is_reported_and_retried(harness: PipelineHarness) -> None:
    away = harness.raw.directory.rename(harness.raw.directory.parent / "away")
    harness.settle()
    assert str(harness.raw.directory) in harness.view.read_error
    away.rename(harness.raw.directory)
    log = harness.raw.completed(1, 5)
    harness.pass_time(11)
    assert (harness.view.read_error, harness.collect()) == ("", log.ids())


def test_metrics_count_read_and_sent_events(harness: PipelineHarness) -> None:
    harness.raw.completed(1, 3, 2)
    harness.settle()
    text = harness.metrics.delivery.render().decode()
    assert 'cdc_events_total{op="i",table="ks.t"} 5.0' in text
    assert "cdc_mutations_total 2.0" in text
    assert "cdc_events_sent_total 5.0" in text
    assert "cdc_events_acknowledged_total 5.0" in text
    assert 'cdc_segments_finished_total{disposition="delivered"} 1.0' in text
    assert 'cdc_segments{state="waiting"} 0.0' in text


def test_lag_counts_readable_unacknowledged_bytes(held: PipelineHarness) -> None:
    log = held.raw.live(1, 1, 1)
    held.settle()
    assert held.view.lag_bytes == log.end
    held.pass_time(5)
    assert held.view.lag_s == 5.0
    held.acknowledge(held.sink.waiting[:1])
    assert held.view.lag_bytes == 10
    assert held.view.lag_s > 0
    held.acknowledge()
    assert (held.view.lag_bytes, held.view.lag_s) == (0, 0.0)


def test_lag_after_quiet_hour_starts_at_zero(held: PipelineHarness) -> None:
    """Lag also ignores write times that the client chose."""
    log = held.raw.live(1, 1)
    held.settle()
    held.acknowledge()
    held.pass_time(3600)
    log.add(1, 1)
    held.raw.index(log, log.end)
    held.settle()
    assert held.view.lag_s == 0.0
    held.pass_time(4)
    assert held.view.lag_s == 4.0
    held.pipeline.context.delivery.last_acknowledged_write_ts_us = (1 << 63) - 1
    held.pass_time(3)
    assert held.view.lag_s == 7.0


def test_lag_of_backlog_at_start_follows_write_times(
    make_harness: MakeHarness,
) -> None:
    harness = make_harness(sink=MemorySink(automatic=False), batch_max_events=1)
    harness.raw.completed(1, 1, 1)
    harness.settle()
    harness.sink.acknowledge(harness.sink.waiting[:1])
    harness.pass_time(1)
    assert harness.view.lag_s > 3600


def test_sink_with_small_capacity_receives_all_events(make_harness: MakeHarness) -> None:
    harness = make_harness(sink=MemorySink(automatic=False, capacity=3))
    log = harness.raw.completed(1, 4, 4, 4)
    harness.settle()
    for _ in range(10):
        harness.acknowledge()
    assert (harness.collect(), harness.raw.names()) == (log.ids(), set())


def test_segment_without_index_is_archived_once_newer_exists(harness: PipelineHarness) -> None:
    orphan = harness.raw.segment(1)
    harness.raw.release(orphan)
    harness.settle()
    assert harness.raw.names() == {orphan.name.log}
    harness.raw.segment(2)
    harness.settle()
    assert harness.archived() == {orphan.name.log}
