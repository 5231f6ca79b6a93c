"""What goes wrong, and that nothing is lost by it."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from commitlog import CorruptSegmentError, UnsupportedFeatureError
from sidecar.errors import RefusedError, SinkRestartError
from tests.support.memory_sink import MemorySink
from tests.support.pipeline_harness import Rig
from tests.support.quarantine_reasons import reason_of

MakeRig = Callable[..., Rig]


def held_because(rig: Rig) -> str:
    return rig.view.blocked.message if rig.view.blocked is not None else ""


def test_a_sink_that_fails_starts_again_from_the_watermark(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False))
    log = rig.raw.completed(1, *[2] * 10)
    rig.settle()
    rig.sink.acknowledge(rig.sink.waiting[:7])
    rig.settle()
    rig.collect()
    rig.sink.raise_next(SinkRestartError("events were lost"))
    rig.settle()
    assert rig.collect() == log.ids()
    assert "events were lost" in rig.view.delivery.sink.message
    rig.pass_time(1)
    assert rig.collect() == log.ids() + log.ids()[6:]
    rig.sink.acknowledge()
    rig.settle()
    assert rig.raw.names() == set()
    assert "cdc_sink_restarts_total 1.0" in rig.metrics.delivery.render().decode()


def test_a_sink_that_keeps_failing_is_tried_with_growing_pauses(rig: Rig) -> None:
    log = rig.raw.completed(1, 3)
    opened = []

    def open_and_fail() -> None:
        opened.append(rig.clock.now_s)
        raise SinkRestartError("no")

    rig.sink.open = open_and_fail  # type: ignore[method-assign]
    for _ in range(60):
        rig.pass_time(1)
    pauses = [later - earlier for earlier, later in pairwise(opened)]
    assert pauses[:5] == [1, 2, 4, 8, 16]
    del rig.sink.open
    rig.pass_time(30)
    assert rig.collect() == log.ids()


def test_a_sink_that_refuses_the_agent_is_opened_again_after_growing_pauses(rig: Rig) -> None:
    log = rig.raw.completed(1, 3)
    opened: list[float] = []
    really_open = rig.sink.open

    def refuse() -> None:
        opened.append(rig.clock())
        raise RefusedError("wrong password")

    rig.sink.open = refuse  # type: ignore[method-assign]
    rig.sink.raise_next(RefusedError("wrong password"))
    for _ in range(80):
        rig.pass_time(0.5)
    state = rig.view.delivery.sink
    assert (state.healthy, state.code, state.message) == (False, "sink_refused", "wrong password")
    assert "Restart it" in state.remedy
    pauses_s = [later - earlier for earlier, later in pairwise(opened)]
    assert all(pauses_s[n] >= 0.75 * 2**n for n in range(4)), pauses_s
    rig.sink.open = really_open  # type: ignore[method-assign]
    rig.pass_time(31)
    assert rig.collect() == log.ids()
    assert rig.view.delivery.sink.healthy


def test_a_sink_that_refuses_the_agent_ends_the_pipeline_where_that_is_wanted(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(waits_when_refused=False)
    rig.raw.completed(1, 3)
    rig.settle()
    rig.sink.raise_next(RefusedError("wrong password"))
    rig.clock.advance(1)
    with pytest.raises(RefusedError):
        rig.pipeline.tick()


def test_offsets_that_cannot_be_saved_do_not_stop_delivery(rig: Rig) -> None:
    rig.store.is_failing = True
    first = rig.raw.completed(1, 5)
    rig.settle()
    second = rig.raw.completed(2, 5)
    rig.settle()
    assert rig.collect() == first.ids() + second.ids()
    assert "disk is full" in rig.view.save_error
    assert first.name.log in rig.raw.names(), "what is not stored as finished stays"
    assert rig.view.stored.positions == {}
    rig.store.is_failing = False
    rig.pass_time(2)
    assert rig.view.save_error == ""
    assert rig.raw.names() == set()


def test_progress_is_saved_at_the_end_although_it_failed_before(rig: Rig) -> None:
    log = rig.raw.segment(1, 2)
    rig.raw.index(log, log.end)
    rig.store.is_failing = True
    rig.settle()
    rig.store.is_failing = False
    rig.pipeline.loop.close(0.0)
    assert rig.store.values[log.name.log] == str(log.end)


def test_without_stored_progress_a_restart_repeats(rig: Rig) -> None:
    log = rig.raw.completed(1, 5)
    rig.store.is_failing = True
    rig.settle()
    rig.store.is_failing = False
    rig.kill()
    rig.settle()
    assert rig.collect() == log.ids() * 2


def test_a_held_segment_goes_on_when_the_schema_comes(rig: Rig) -> None:
    log = rig.raw.completed(1, 2)
    log.add(2, table="ks.new")
    log.add(2)
    behind = rig.raw.completed(2, 2)
    rig.settle()
    assert rig.collect() == log.ids()[:2]
    assert rig.phases == ["blocked", "final"]
    assert "ks.new" in held_because(rig)
    assert rig.schema.asked == ["ks.new is not known"]
    rig.pass_time(5)
    assert len(rig.schema.asked) > 1
    rig.schema.next_schema = rig.raw.schema("ks.t", "ks.new")
    rig.pass_time(1)
    assert rig.collect() == log.ids() + behind.ids()
    assert held_because(rig) == ""
    assert rig.quarantined() == set()


def test_a_schema_that_comes_by_itself_ends_the_hold(rig: Rig) -> None:
    log = rig.raw.completed(1, 2)
    log.add(2, table="ks.new")
    rig.settle()
    rig.schema.schema = rig.raw.schema("ks.t", "ks.new")
    rig.settle()
    assert rig.collect() == log.ids()


def test_another_schema_does_not_make_the_hold_longer(make_rig: MakeRig) -> None:
    rig = make_rig(blocked_timeout_ms=10_000)
    rig.raw.completed(1).add(2, table="ks.dropped")
    rig.settle()
    for _ in range(11):
        rig.schema.schema = rig.raw.schema("ks.t")
        rig.pass_time(1)
    assert rig.view.blocked is None
    assert rig.raw.names() == set()


def test_a_hold_that_expires_is_passed_over_and_the_segment_kept(make_rig: MakeRig) -> None:
    rig = make_rig(blocked_timeout_ms=10_000)
    log = rig.raw.completed(1, 2)
    log.add(3, 1, table="ks.dropped")
    log.add(2)
    log.add(1, table="ks.dropped")
    rig.settle()
    rig.pass_time(9)
    assert rig.phases == ["blocked"]
    rig.pass_time(1)
    known = [event for event in log.ids() if event.split("/")[1] in ("30", "60")]
    assert rig.collect() == known
    assert rig.raw.names() == set()
    assert {log.name.log, log.name.idx} <= rig.quarantined()
    ranges = reason_of(rig, 1)["ranges"]
    assert [(lost["start"], lost["end"], lost["table_id"]) for lost in ranges] == [
        (30, 50, "ks.dropped"),
        (60, 70, "ks.dropped"),
    ]
    text = rig.metrics.delivery.render().decode()
    assert 'cdc_quarantined_total{reason="unknown_schema"} 2.0' in text
    assert 'cdc_segments_finished_total{way="quarantined"} 1.0' in text


def test_what_was_given_up_is_not_waited_for_again(make_rig: MakeRig) -> None:
    rig = make_rig(blocked_timeout_ms=10_000)
    rig.raw.completed(1).add(1, table="ks.dropped")
    rig.settle()
    rig.pass_time(10)
    rig.schema.schema = rig.raw.schema("ks.t", "ks.other")
    log = rig.raw.completed(2, 1)
    log.add(1, table="ks.dropped")
    log.add(1, table="ks.other")
    rig.settle()
    assert rig.view.blocked is None
    assert rig.raw.names() == set()
    assert len(rig.collect()) == 2
    rig.schema.schema = rig.raw.schema("ks.t", "ks.dropped")
    back = rig.raw.completed(3)
    back.add(2, table="ks.dropped")
    rig.settle()
    assert rig.collect()[2:] == back.ids()


def test_without_hold_time_the_schema_is_asked_once(make_rig: MakeRig) -> None:
    rig = make_rig(blocked_timeout_ms=0)
    log = rig.raw.completed(1)
    log.add(2, table="ks.new")
    rig.schema.next_schema = rig.raw.schema("ks.t", "ks.new")
    rig.settle()
    assert rig.collect() == log.ids()
    rig.raw.completed(2).add(2, table="ks.other")
    rig.settle()
    assert rig.raw.names() == set()
    assert len(rig.schema.asked) == 2


@pytest.mark.parametrize("table", ["ks.t", "ks.new"])
def test_a_schema_that_is_refused_ends_the_pipeline(rig: Rig, table: str) -> None:
    """Also where nothing waits for it: with a kept schema nobody would see it until a table is
    new."""
    rig.raw.completed(1).add(2, table=table)
    rig.schema.fatal = RefusedError("Cassandra refuses the login")
    with pytest.raises(RefusedError):
        rig.settle()


def test_damage_is_on_record_and_its_segment_kept(rig: Rig) -> None:
    log = rig.raw.completed(1, 2)
    log.add(1, is_damaged=True)
    log.add(2)
    rig.settle()
    assert rig.collect() == log.ids()
    assert {log.name.log, log.name.idx} <= rig.quarantined()
    assert reason_of(rig, 1)["ranges"][0]["cause"] == "the payload CRC does not match"


def test_damage_is_remembered_over_a_restart_behind_it(rig: Rig) -> None:
    log = rig.raw.segment(1, 2)
    log.add(1, is_damaged=True)
    log.add(2)
    rig.raw.index(log, log.end)
    rig.settle()
    assert rig.store.values[log.name.log] == str(log.end)
    rig.kill()
    rig.raw.index(log, f"{log.end}\nCOMPLETED")
    rig.settle()
    assert log.name.log in rig.quarantined()
    assert log.name.log not in rig.archived()


def test_reading_waits_while_damage_cannot_be_put_on_record(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = rig.raw.completed(1, 2)
    log.add(1, is_damaged=True)
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr("agent.quarantine.quarantine.write_synced", fail)
        rig.settle()
        assert "No space left" in rig.view.leave_error
        assert rig.collect() == []
        rig.pass_time(5)
    rig.pass_time(1)
    assert rig.view.leave_error == ""
    assert rig.collect() == log.ids()
    assert log.name.log in rig.quarantined()


def test_a_full_quarantine_keeps_the_segment_in_cdc_raw(make_rig: MakeRig) -> None:
    rig = make_rig(quarantine_max_bytes=500)
    log = rig.raw.completed(1, 2)
    log.add(1, is_damaged=True)
    (rig.relocation / "error").mkdir(parents=True)
    filler = rig.relocation / "error" / "filler"
    filler.write_bytes(b"x" * 450)
    fine = rig.raw.completed(2, 2)
    rig.settle()
    assert rig.collect() == log.ids() + fine.ids()
    assert rig.raw.names() == {log.name.log, log.name.idx}
    assert "quarantine.max.bytes" in rig.view.leave_error
    assert rig.phases == ["drained"]
    rig.kill()
    rig.settle()
    assert log.name.log in rig.raw.names()
    filler.unlink()
    rig.pass_time(2)
    assert rig.raw.names() == set()
    assert rig.view.leave_error == ""
    assert rig.collect() == log.ids() + fine.ids()


def test_a_refused_event_is_kept_and_the_others_go_on(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False))
    log = rig.raw.completed(1, 2, 2)
    rig.settle()
    rig.sink.fail(rig.sink.waiting[1], "Kafka refuses it: message too large")
    rig.sink.acknowledge()
    rig.settle()
    path = rig.relocation / "error" / f"{log.name.log}.events.ndjson"
    line = json.loads(path.read_text())
    assert line["value"] == log.ids()[1]
    assert "too large" in line["reason"]
    assert log.name.log in rig.archived()
    assert rig.raw.names() == set()


def test_a_refused_event_without_room_keeps_its_segment(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False), quarantine_max_bytes=10)
    log = rig.raw.completed(1, 2, 2)
    rig.settle()
    rig.sink.fail(rig.sink.waiting[1], "message too large")
    rig.sink.acknowledge()
    rig.settle()
    assert log.name.log in rig.raw.names()
    lost = reason_of(rig, 1)["ranges"][0]
    assert (lost["start"], lost["end"]) == (0, log.end)
    assert "too large" in lost["cause"]


def test_a_segment_that_vanishes_unread_is_reported(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False), window_max_events=4, batch_max_events=4)
    first = rig.raw.completed(1, 4, 4)
    gone = rig.raw.completed(2, 4)
    rig.settle()
    rig.raw.drop(gone)
    rig.settle()
    assert reason_of(rig, 2)["ranges"] == [
        {
            "start": 0,
            "end": None,
            "cause": "the segment is gone from cdc_raw before it was read to its end",
            "table_id": None,
        }
    ]
    assert 'cdc_quarantined_total{reason="vanished"} 1.0' in rig.metrics.delivery.render().decode()
    for _ in range(3):
        rig.sink.acknowledge()
        rig.settle()
    assert rig.collect() == first.ids()


def test_an_open_segment_that_vanishes_is_read_to_its_end(make_rig: MakeRig) -> None:
    rig = make_rig(sink=MemorySink(automatic=False), window_max_events=8, batch_max_events=4)
    log = rig.raw.completed(1, *[4] * 6)
    rig.settle()
    rig.raw.drop(log)
    for _ in range(10):
        rig.sink.acknowledge()
        rig.settle()
    assert rig.collect() == log.ids()
    assert rig.quarantined() == set()
    assert rig.store.values[log.name.log] == "COMPLETED"


def test_a_segment_that_vanished_while_the_agent_was_down_is_reported_once(rig: Rig) -> None:
    log = rig.raw.segment(1, 2, 2)
    rig.raw.index(log, log.end)
    rig.settle()
    rig.kill()
    rig.raw.drop(log)
    rig.settle()
    assert reason_of(rig, 1)["ranges"][0]["start"] == log.end
    before = (rig.relocation / "error" / f"{log.name.log}.reason.json").stat().st_mtime_ns
    rig.kill()
    rig.settle()
    after = (rig.relocation / "error" / f"{log.name.log}.reason.json").stat().st_mtime_ns
    assert before == after


def test_a_vanished_segment_that_a_replay_brings_back_is_read_on(rig: Rig) -> None:
    log = rig.raw.segment(1, 2, 2)
    rig.raw.index(log, log.records[0].end)
    rig.settle()
    rig.kill()
    rig.raw.drop(log)
    rig.settle()
    rig.raw.link(log)
    rig.raw.index(log, "1048576\nCOMPLETED")
    rig.settle()
    assert rig.collect() == log.ids()
    assert rig.quarantined() == set(), "all of it was delivered, so no loss stays on record"
    assert log.name.log in rig.archived()


def test_a_loss_that_is_none_any_more_leaves_no_error(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = rig.raw.segment(1, 2, 2)
    rig.raw.index(log, log.records[0].end)
    rig.settle()
    rig.kill()
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise OSError(30, "Read-only file system")

        patch.setattr("agent.quarantine.quarantine.write_synced", fail)
        rig.raw.drop(log)
        rig.settle()
        assert "Read-only file system" in rig.view.leave_error
        rig.raw.link(log)
        rig.settle()
        assert rig.view.leave_error == ""
    rig.settle()
    assert rig.quarantined() == set()


def test_a_segment_of_another_version_is_kept_whole(rig: Rig) -> None:
    log, fine = rig.raw.completed(1, 2), rig.raw.completed(2, 2)
    log.error = UnsupportedFeatureError("CommitLog-7-1.log: encrypted")
    rig.settle()
    assert rig.collect() == fine.ids()
    assert {log.name.log, log.name.idx} <= rig.quarantined()
    assert reason_of(rig, 1)["ranges"] == [
        {"start": 0, "end": None, "cause": "CommitLog-7-1.log: encrypted", "table_id": None}
    ]


def test_a_live_segment_of_another_version_is_passed_over(rig: Rig) -> None:
    log, fine = rig.raw.segment(1, 2), rig.raw.segment(2, 2)
    log.error = UnsupportedFeatureError("CommitLog-7-1.log: encrypted")
    rig.raw.index(log, log.end)
    rig.settle()
    rig.raw.index(fine, fine.end)
    rig.settle()
    assert rig.collect() == fine.ids()
    assert log.name.log in rig.raw.names()
    rig.raw.index(log, "5\nCOMPLETED")
    rig.settle()
    assert log.name.log in rig.quarantined()


def test_a_live_segment_without_header_is_waited_for(rig: Rig) -> None:
    log = rig.raw.segment(1, 2)
    log.error = CorruptSegmentError("CommitLog-7-1.log: the header is incomplete")
    rig.raw.index(log, log.end)
    rig.settle()
    assert rig.phases == ["blocked"]
    log.error = None
    rig.pass_time(1)
    assert rig.collect() == log.ids()
    assert rig.quarantined() == set()


def test_an_error_of_the_parser_costs_one_segment(rig: Rig) -> None:
    log, fine = rig.raw.completed(1, 2), rig.raw.completed(2, 2)
    log.error = RuntimeError("unexpected")
    rig.settle()
    assert rig.collect() == fine.ids()
    assert log.name.log in rig.quarantined()
    assert "RuntimeError: unexpected" in reason_of(rig, 1)["ranges"][0]["cause"]


def test_a_segment_that_goes_between_look_and_read_is_reported(rig: Rig) -> None:
    log, fine = rig.raw.completed(1, 2), rig.raw.completed(2, 2)
    rig.raw.open_error = FileNotFoundError(2, "No such file or directory")
    rig.tick()
    rig.raw.drop(log)
    rig.raw.open_error = None
    rig.settle()
    assert rig.collect() == fine.ids()
    assert rig.view.blocked is None
    assert reason_of(rig, 1)["ranges"][0]["start"] == 0


def test_a_transfer_that_fails_is_tried_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    log = rig.raw.completed(1, 2)
    with monkeypatch.context() as patch:

        def fail(self: Path, target: Path) -> Path:
            raise OSError(28, "No space left on device", str(self))

        patch.setattr(Path, "replace", fail)
        rig.settle()
        assert "No space left" in rig.view.leave_error
        assert log.name.log in rig.raw.names()
    rig.pass_time(1)
    assert rig.raw.names() == set()
    assert rig.view.leave_error == ""
