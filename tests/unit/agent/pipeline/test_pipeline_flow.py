"""The usual way of events, and what a person sees of it."""

from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.sinks.memory_sink import MemorySink


def test_finished_segments_are_delivered_in_order_and_leave(harness: PipelineHarness) -> None:
    late, log = harness.raw.completed(12, 3), harness.raw.completed(9, 3, 1, 0, 25, 2)
    harness.settle()
    assert (harness.collect(), harness.raw.names()) == (log.ids() + late.ids(), set())
    assert harness.archived() == {log.name.log, log.name.idx, late.name.log, late.name.idx}
    stored = {"node.id": "node-1", log.name.log: "COMPLETED", late.name.log: "COMPLETED"}
    assert harness.store.values == stored
    assert harness.view.lag_bytes == harness.view.delivery.unacknowledged_events == 0


def test_a_live_segment_is_followed(harness: PipelineHarness) -> None:
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


def test_progress_moves_at_mutation_boundaries_whatever_the_order(held: PipelineHarness) -> None:
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


def test_the_first_schema_is_waited_for(harness: PipelineHarness) -> None:
    log = harness.raw.completed(1, 5)
    harness.schema.schema, harness.schema.next_schema = None, harness.schema.schema
    harness.settle()
    assert harness.collect() == []
    harness.schema.refresh("for the test")
    harness.settle()
    assert harness.collect() == log.ids()


def test_files_that_are_not_segments_are_left_alone(harness: PipelineHarness) -> None:
    (harness.raw.directory / "CommitLog-17.log").write_text("legacy")
    harness.settle()
    assert harness.raw.names() == {"CommitLog-17.log"}
    assert harness.view.other_files == ("CommitLog-17.log",)


def test_missing_directory_is_reported_and_retried(harness: PipelineHarness) -> None:
    away = harness.raw.directory.rename(harness.raw.directory.parent / "away")
    harness.settle()
    assert str(harness.raw.directory) in harness.view.read_error
    away.rename(harness.raw.directory)
    log = harness.raw.completed(1, 5)
    harness.pass_time(11)
    assert (harness.view.read_error, harness.collect()) == ("", log.ids())


def test_counts_read_and_sent_events(harness: PipelineHarness) -> None:
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


def test_the_first_write_after_a_quiet_hour_is_not_an_hour_late(held: PipelineHarness) -> None:
    """Nor is one with a time that the client chose, in 1970 or in the year 292,278."""
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


def test_backlog_that_is_found_at_start_is_as_late_as_its_writes(
    make_harness: MakeHarness,
) -> None:
    harness = make_harness(sink=MemorySink(automatic=False), batch_max_events=1)
    harness.raw.completed(1, 1, 1)
    harness.settle()
    harness.sink.acknowledge(harness.sink.waiting[:1])
    harness.pass_time(1)
    assert harness.view.lag_s > 3600
