"""The usual way of events, and what a person sees of it."""

from collections.abc import Callable

from tests.support.memory_sink import MemorySink
from tests.support.pipeline_harness import Rig

MakeRig = Callable[..., Rig]


def test_a_finished_segment_is_delivered_in_order_and_leaves(rig: Rig) -> None:
    log = rig.raw.completed(1, 3, 1, 0, 25, 2)
    rig.settle()
    assert rig.collect() == log.ids()
    assert rig.raw.names() == set()
    assert rig.archived() == {log.name.log, log.name.idx}
    assert rig.store.values == {"node.id": "node-1", log.name.log: "COMPLETED"}
    assert rig.view.lag_bytes == 0
    assert rig.view.delivery.unacknowledged_events == 0


def test_a_live_segment_is_followed(rig: Rig) -> None:
    log = rig.raw.segment(1, 2, 2, 2, 2)
    rig.settle()
    assert rig.phases == ["waiting"]
    rig.raw.index(log, log.records[1].end)
    rig.settle()
    assert rig.collect() == log.ids()[:4]
    assert rig.phases == ["idle"]
    assert rig.store.values[log.name.log] == str(log.records[1].end)
    rig.raw.index(log, log.records[2].end)
    rig.settle()
    assert rig.collect() == log.ids()[:6]
    rig.raw.index(log, f"{log.end}\nCOMPLETED")
    rig.settle()
    assert rig.collect() == log.ids()
    assert rig.raw.names() == set()


def test_segments_come_oldest_first(rig: Rig) -> None:
    late, early = rig.raw.completed(12, 3), rig.raw.completed(9, 3)
    rig.settle()
    assert rig.collect() == early.ids() + late.ids()


def test_one_read_is_ahead_while_the_sink_works(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False), window_max_events=40, batch_max_events=10)
    rig.raw.completed(1, *[1] * 100)
    rig.settle()
    assert len(rig.collect()) == 40, "the window is the only buffer"
    assert rig.view.delivery.unacknowledged_events == 40
    rig.sink.acknowledge()
    rig.settle()
    assert len(rig.collect()) == 80


def test_a_sink_that_is_away_stops_reading_and_goes_on_by_itself(make_rig: MakeRig) -> None:
    rig = make_rig(window_max_events=40, batch_max_events=10)
    log = rig.raw.completed(1, *[1] * 100)
    rig.sink.go_away("no broker answers")
    rig.settle()
    reads = log.reads
    assert reads <= 4
    for _ in range(5):
        rig.pass_time(1)
    assert log.reads == reads
    assert not rig.view.delivery.sink.healthy
    assert "no broker" in rig.view.delivery.sink.message
    rig.sink.come_back()
    rig.pass_time(1)
    assert rig.collect() == log.ids()
    assert rig.view.delivery.sink.healthy


def test_a_sink_that_takes_little_gets_the_rest_later(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False, capacity=3))
    log = rig.raw.completed(1, 4, 4, 4)
    rig.settle()
    for _ in range(10):
        rig.sink.acknowledge()
        rig.settle()
    assert rig.collect() == log.ids()
    assert rig.raw.names() == set()


def test_progress_moves_at_mutation_boundaries_whatever_the_order(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False))
    log = rig.raw.segment(1, 3, 2, 2)
    rig.raw.index(log, log.end)
    rig.settle()
    numbers = list(rig.sink.waiting)
    for taken, expected in (
        (numbers[3:5], None),
        (numbers[0:2], None),
        (numbers[2:3], log.records[1].end),
        (numbers[6:7], log.records[1].end),
        (numbers[5:6], log.records[2].end),
    ):
        rig.sink.acknowledge(taken)
        rig.settle()
        stored = rig.store.values.get(log.name.log)
        assert stored == (None if expected is None else str(expected))


def test_a_segment_without_events_leaves(rig: Rig) -> None:
    empty, silent = rig.raw.completed(1), rig.raw.completed(2, 0, 0)
    rig.settle()
    assert rig.collect() == []
    assert {empty.name.log, silent.name.log} <= rig.archived()


def test_an_orphan_without_index_leaves_when_a_newer_one_exists(rig: Rig) -> None:
    orphan = rig.raw.segment(1)
    rig.raw.release(orphan)
    rig.settle()
    assert rig.raw.names() == {orphan.name.log}
    rig.raw.segment(2)
    rig.settle()
    assert rig.archived() == {orphan.name.log}


def test_an_older_segment_without_news_does_not_hold_up_a_newer_one(rig: Rig) -> None:
    older = rig.raw.segment(1, 5)
    newer = rig.raw.completed(2, 5)
    rig.settle()
    assert rig.collect() == newer.ids()
    assert rig.raw.names() == {older.name.log}
    rig.raw.index(older, "1048576\nCOMPLETED")
    rig.settle()
    assert rig.collect() == newer.ids() + older.ids()


def test_a_segment_that_a_replay_links_again_leaves_unread(rig: Rig) -> None:
    log = rig.raw.completed(1, 5)
    rig.settle()
    reads = log.reads
    rig.raw.link(log)
    rig.raw.index(log, "1048576\nCOMPLETED")
    rig.kill()
    rig.settle()
    assert log.reads == reads
    assert rig.raw.names() == set()
    assert rig.collect() == log.ids()


def test_the_first_schema_is_waited_for(rig: Rig) -> None:
    log = rig.raw.completed(1, 5)
    rig.schema.schema, rig.schema.next_schema = None, rig.schema.schema
    rig.settle()
    assert rig.collect() == []
    rig.schema.refresh("for the test")
    rig.settle()
    assert rig.collect() == log.ids()


def test_what_is_no_segment_is_left_alone(rig: Rig) -> None:
    (rig.raw.directory / "CommitLog-17.log").write_text("legacy")
    rig.settle()
    assert rig.raw.names() == {"CommitLog-17.log"}
    assert rig.view.refused_files == ("CommitLog-17.log",)


def test_a_missing_directory_is_said_and_waited_for(rig: Rig) -> None:
    away = rig.raw.directory.rename(rig.raw.directory.parent / "away")
    rig.settle()
    assert str(rig.raw.directory) in rig.view.read_error
    away.rename(rig.raw.directory)
    log = rig.raw.completed(1, 5)
    rig.pass_time(11)
    assert rig.view.read_error == ""
    assert rig.collect() == log.ids()


def test_counts_what_it_reads_and_sends(rig: Rig) -> None:
    rig.raw.completed(1, 3, 2)
    rig.settle()
    text = rig.metrics.delivery.render().decode()
    assert 'cdc_events_total{op="i",table="ks.t"} 5.0' in text
    assert "cdc_mutations_total 2.0" in text
    assert "cdc_events_sent_total 5.0" in text
    assert "cdc_events_acknowledged_total 5.0" in text
    assert 'cdc_segments_finished_total{way="transferred"} 1.0' in text
    assert 'cdc_segments{state="waiting"} 0.0' in text


def test_lag_is_what_can_be_read_and_is_not_acknowledged(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False))
    log = rig.raw.segment(1, 1, 1)
    rig.raw.index(log, log.end)
    rig.settle()
    assert rig.view.lag_bytes == log.end
    rig.pass_time(5)
    assert rig.view.lag_s == 5.0
    rig.sink.acknowledge(rig.sink.waiting[:1])
    rig.settle()
    assert rig.view.lag_bytes == 10
    assert rig.view.lag_s > 0
    rig.sink.acknowledge()
    rig.settle()
    assert (rig.view.lag_bytes, rig.view.lag_s) == (0, 0.0)


def test_the_first_write_after_a_quiet_hour_is_not_an_hour_late(make_rig: MakeRig) -> None:
    """Nor is one with a time that the client chose, in 1970 or in the year 292,278."""
    rig = make_rig(sink=MemorySink(automatic=False))
    log = rig.raw.segment(1, 1)
    rig.raw.index(log, log.end)
    rig.settle()
    rig.sink.acknowledge()
    rig.settle()
    rig.pass_time(3600)
    log.add(1, 1)
    rig.raw.index(log, log.end)
    rig.settle()
    assert rig.view.lag_s == 0.0
    rig.pass_time(4)
    assert rig.view.lag_s == 4.0
    rig.pipeline.context.delivery.last_acknowledged_write_ts_us = (1 << 63) - 1
    rig.pass_time(3)
    assert rig.view.lag_s == 7.0


def test_a_backlog_that_is_found_at_the_start_is_as_late_as_its_writes(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False), batch_max_events=1)
    rig.raw.completed(1, 1, 1)
    rig.settle()
    rig.sink.acknowledge(rig.sink.waiting[:1])
    rig.pass_time(1)
    assert rig.view.lag_s > 3600
