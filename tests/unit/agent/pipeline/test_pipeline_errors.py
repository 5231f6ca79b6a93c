"""Errors of the pipeline, none of which loses an event silently. Some cases delete unread
segments, as a node does with `cdc_block_writes: false` and a full `cdc_raw`."""

from itertools import pairwise

import pytest

from agent.quarantine.entries import discard
from agent.segments.awaited_files import PATIENCE_S
from commitlog import CorruptSegmentError, UnsupportedFeatureError
from sidecar.errors import AccessDeniedError, SidecarError, SinkRestartError
from tests.support.pipeline.crash_injector import failing
from tests.support.pipeline.fakes import Log
from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.sinks.memory_sink import MemorySink


def test_restarted_sink_resends_unacknowledged_mutations(held: PipelineHarness) -> None:
    log = held.raw.completed(1, *[2] * 10)
    held.settle()
    held.acknowledge(held.sink.waiting[:7])
    held.collect()
    held.sink.raise_next(SinkRestartError("events were lost"))
    held.settle()
    assert held.collect() == log.ids()
    assert "events were lost" in held.view.delivery.sink.message
    held.pass_time(1)
    assert held.collect() == log.ids() + log.ids()[6:]
    held.acknowledge()
    assert held.raw.names() == set()
    assert "cdc_sink_restarts_total 1.0" in held.metrics.delivery.render().decode()


@pytest.mark.parametrize(
    "error", [SinkRestartError("events were lost"), AccessDeniedError("wrong password")]
)
def test_a_sink_is_reopened_with_growing_pauses(
    harness: PipelineHarness, error: SidecarError
) -> None:
    log = harness.raw.completed(1, 3)
    opened: list[float] = []

    def refuse() -> None:
        opened.append(harness.clock())
        raise error

    harness.sink.open = refuse  # type: ignore[method-assign]
    harness.sink.raise_next(error)
    for _ in range(80):
        harness.pass_time(0.5)
    state = harness.view.delivery.sink
    assert (state.healthy, state.message.endswith(str(error))) == (False, True)
    if isinstance(error, AccessDeniedError):
        assert (state.code, "Restart the agent" in state.remedy) == ("sink_access_denied", True)
    pauses_s = [later - earlier for earlier, later in pairwise(opened)]
    assert all(0.75 * 2**n <= pauses_s[n] <= 2**n for n in range(5)), pauses_s
    del harness.sink.open
    harness.pass_time(31)
    assert harness.collect() == log.ids()
    assert harness.view.delivery.sink.healthy


def test_offset_save_error_does_not_stop_delivery(harness: PipelineHarness) -> None:
    harness.store.is_failing = True
    first = harness.raw.completed(1, 5)
    harness.settle()
    second = harness.raw.completed(2, 5)
    harness.settle()
    assert harness.collect() == first.ids() + second.ids()
    assert "disk is full" in harness.view.save_error
    assert first.name.log in harness.raw.names(), "what is not stored as finished stays"
    assert harness.view.stored.positions == {}
    harness.store.is_failing = False
    harness.pass_time(2)
    assert (harness.view.save_error, harness.raw.names()) == ("", set())


def test_offset_is_saved_at_close_after_failed_save(harness: PipelineHarness) -> None:
    log = harness.raw.live(1, 2)
    harness.store.is_failing = True
    harness.settle()
    harness.store.is_failing = False
    harness.pipeline.loop.close(0.0)
    assert harness.store.values[log.name.log] == str(log.end)


@pytest.mark.parametrize("table", ["ks.t", "ks.new"])
def test_fatal_schema_error_ends_the_pipeline(harness: PipelineHarness, table: str) -> None:
    """The error is fatal even if no record waits for a new schema."""
    harness.raw.completed(1).add(2, table=table)
    harness.schema.fatal = AccessDeniedError("Cassandra refuses the login")
    with pytest.raises(AccessDeniedError):
        harness.settle()


def test_damage_is_remembered_across_restart(harness: PipelineHarness) -> None:
    log = harness.raw.segment(1, 2).add(1, is_damaged=True).add(2)
    harness.raw.index(log, log.end)
    harness.settle()
    assert harness.store.values[log.name.log] == str(log.end)
    harness.kill()
    harness.raw.index(log, f"{log.end}\nCOMPLETED")
    harness.settle()
    assert log.name.log in harness.quarantined() - harness.archived()


def test_reading_waits_until_damage_is_recorded(
    harness: PipelineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = harness.raw.completed(1, 2).add(1, is_damaged=True)
    with monkeypatch.context() as patch:
        patch.setattr("agent.quarantine.quarantine.replace_synced", failing(28))
        harness.settle()
        assert "No space left" in harness.leave_error
        assert harness.collect() == []
        harness.pass_time(5)
    harness.pass_time(1)
    assert (harness.leave_error, harness.collect()) == ("", log.ids())
    assert log.name.log in harness.quarantined()


def test_full_quarantine_leaves_segment_in_cdc_raw(make_harness: MakeHarness) -> None:
    harness = make_harness(quarantine_max_bytes=500)
    log = harness.raw.completed(1, 2).add(1, is_damaged=True)
    (harness.relocation / "error").mkdir(parents=True)
    filler = harness.relocation / "error" / "filler"
    filler.write_bytes(b"x" * 450)
    fine = harness.raw.completed(2, 2)
    harness.settle()
    assert harness.collect() == log.ids() + fine.ids()
    assert harness.raw.names() == {log.name.log, log.name.idx}
    assert "quarantine.max.bytes" in harness.leave_error
    assert harness.phases == ["drained"]
    harness.kill()
    harness.settle()
    assert log.name.log in harness.raw.names()
    filler.unlink()
    harness.pass_time(2)
    assert (harness.raw.names(), harness.leave_error) == (set(), "")
    assert harness.collect() == log.ids() + fine.ids()


def test_rejected_event_without_room_keeps_segment_in_cdc_raw(make_harness: MakeHarness) -> None:
    harness = make_harness(sink=MemorySink(automatic=False), quarantine_max_bytes=10)
    log = harness.raw.completed(1, 2, 2)
    harness.settle()
    harness.sink.fail(harness.sink.waiting[1], "message too large")
    harness.acknowledge()
    assert log.name.log in harness.raw.names()
    lost = harness.ranges(1)[0]
    assert (lost["start"], lost["end"]) == (0, log.end)
    assert "too large" in lost["cause"]


def test_open_segment_is_read_to_end_after_deletion(make_harness: MakeHarness) -> None:
    harness = make_harness(
        sink=MemorySink(automatic=False), window_max_events=8, batch_max_events=4
    )
    log = harness.raw.completed(1, *[4] * 6)
    harness.settle()
    harness.raw.drop(log)
    for _ in range(10):
        harness.acknowledge()
    assert (harness.collect(), harness.quarantined()) == (log.ids(), set())
    assert harness.store.values[log.name.log] == "COMPLETED"


def test_segment_deleted_while_agent_was_down_is_reported_once(harness: PipelineHarness) -> None:
    log = harness.raw.live(1, 2, 2)
    harness.settle()
    harness.kill()
    harness.raw.drop(log)
    harness.settle()
    assert harness.ranges(1)[0]["start"] == log.end
    before = (harness.relocation / "error" / f"{log.name.log}.reason.json").stat().st_mtime_ns
    harness.kill()
    harness.settle()
    after = (harness.relocation / "error" / f"{log.name.log}.reason.json").stat().st_mtime_ns
    assert before == after


@pytest.fixture
def vanished(harness: PipelineHarness) -> Log:
    """A segment that was read in part; the agent was killed, and the segment is gone."""
    log = harness.raw.segment(1, 2, 2)
    harness.raw.index(log, log.records[0].end)
    harness.settle()
    harness.kill()
    harness.raw.drop(log)
    return log


def test_replayed_vanished_segment_resumes_without_loss(
    harness: PipelineHarness, vanished: Log
) -> None:
    harness.settle()
    harness.raw.link(vanished)
    harness.raw.index(vanished, "1048576\nCOMPLETED")
    harness.settle()
    assert harness.collect() == vanished.ids()
    assert harness.quarantined() == set(), "all of it was delivered, so no loss stays on record"
    assert vanished.name.log in harness.archived()


def test_resolved_loss_leaves_no_error(
    harness: PipelineHarness, vanished: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("agent.quarantine.quarantine.replace_synced", failing(30))
        harness.settle()
        assert "Read-only file system" in harness.leave_error
        harness.raw.link(vanished)
        harness.settle()
        assert harness.leave_error == ""
    harness.settle()
    assert harness.quarantined() == set()


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (UnsupportedFeatureError("CommitLog-7-1.log: encrypted"), "CommitLog-7-1.log: encrypted"),
        (RuntimeError("unexpected"), "RuntimeError: unexpected"),
    ],
)
def test_unreadable_segment_is_quarantined_entirely(
    harness: PipelineHarness, error: Exception, cause: str
) -> None:
    log, fine = harness.raw.completed(1, 2), harness.raw.completed(2, 2)
    log.error = error
    harness.settle()
    assert harness.collect() == fine.ids()
    assert {log.name.log, log.name.idx} <= harness.quarantined()
    (lost,) = harness.ranges(1)
    assert (lost["start"], lost["end"], lost["table_id"]) == (0, None, None)
    assert cause in lost["cause"]


def test_unsupported_live_segment_is_quarantined_once_completed(harness: PipelineHarness) -> None:
    log, fine = harness.raw.segment(1, 2), harness.raw.segment(2, 2)
    log.error = UnsupportedFeatureError("CommitLog-7-1.log: encrypted")
    harness.raw.index(log, log.end)
    harness.settle()
    harness.raw.index(fine, fine.end)
    harness.settle()
    assert harness.collect() == fine.ids()
    assert log.name.log in harness.raw.names()
    harness.raw.index(log, "5\nCOMPLETED")
    harness.settle()
    assert log.name.log in harness.quarantined()


def test_live_segment_without_header_blocks_until_readable(harness: PipelineHarness) -> None:
    log = harness.raw.segment(1, 2)
    log.error = CorruptSegmentError("CommitLog-7-1.log: the header is incomplete")
    harness.raw.index(log, log.end)
    harness.settle()
    assert harness.phases == ["blocked"]
    log.error = None
    harness.pass_time(1)
    assert (harness.collect(), harness.quarantined()) == (log.ids(), set())


def test_segment_deleted_before_read_is_reported(harness: PipelineHarness) -> None:
    log, fine = harness.raw.completed(1, 2), harness.raw.completed(2, 2)
    harness.raw.open_error = FileNotFoundError(2, "No such file or directory")
    harness.tick()
    harness.raw.drop(log)
    harness.raw.open_error = None
    harness.settle()
    assert harness.collect() == fine.ids()
    assert harness.view.blocked is None
    assert harness.ranges(1)[0]["start"] == 0


SMALL_WINDOW = {"window_max_events": 4, "batch_max_events": 4}


def test_unseen_deleted_segments_are_reported_with_known_one(
    make_harness: MakeHarness,
) -> None:
    """With `cdc_block_writes: false`, the node deleted 2, 3 and 4; the agent knew only 2."""
    harness = make_harness(**SMALL_WINDOW, sink=MemorySink(automatic=False))
    harness.raw.completed(1, 4, 4)
    gone = harness.raw.completed(2, 4)
    harness.settle()
    harness.raw.drop(gone)
    harness.raw.completed(5, 4)
    harness.settle()
    (lost,) = harness.ranges(2)
    assert lost["cause"].endswith(
        "; the agent saw no segment between it and CommitLog-7-5.log, so the node may have deleted "
        "others unread"
    )


def test_segments_deleted_while_agent_was_stopped_are_recorded(
    make_harness: MakeHarness,
) -> None:
    """With `cdc_block_writes: false`, the agent had finished 1 and the node deleted 2 and 3."""
    harness = make_harness(deletes_at_bytes=1)
    harness.raw.completed(1, 4)
    harness.settle()
    harness.kill()
    harness.raw.completed(4, 4)
    harness.settle()
    (lost,) = harness.ranges(2)
    assert lost["cause"].endswith("deleted segments unread before CommitLog-7-4.log")
    harness.kill()
    harness.raw.completed(5, 4)
    harness.settle()
    assert sorted(path.name for path in harness.quarantine.directory.iterdir()) == [
        "CommitLog-7-2.log.reason.json"
    ]


@pytest.mark.parametrize("limit", [None, 1 << 40])
def test_id_gaps_are_no_loss_while_node_has_room(
    make_harness: MakeHarness, limit: int | None
) -> None:
    """The node removes segments without changes."""
    harness = make_harness(deletes_at_bytes=limit)
    harness.raw.completed(1, 4)
    harness.settle()
    harness.kill()
    harness.raw.completed(4, 4)
    harness.settle()
    assert not harness.quarantine.directory.exists()


def test_loss_record_is_withdrawn_when_segment_reappears(make_harness: MakeHarness) -> None:
    """An operator moved a segment away and back: the node deleted nothing."""
    harness = make_harness(**SMALL_WINDOW, sink=MemorySink(automatic=False))
    first = harness.raw.completed(1, 4, 4)
    moved = harness.raw.completed(2, 4)
    harness.settle()
    log, idx = (harness.raw.directory / name for name in (moved.name.log, moved.name.idx))
    texts = log.read_bytes(), idx.read_bytes()
    harness.raw.drop(moved)
    harness.raw.completed(5, 4)
    harness.settle()
    assert "no segment between" in harness.ranges(2)[0]["cause"]
    idx.write_bytes(texts[1])
    log.write_bytes(texts[0])
    for _ in range(8):
        harness.settle()
        harness.acknowledge()
    assert set(first.ids()) | set(moved.ids()) <= set(harness.collect())
    assert not (harness.quarantine.directory / f"{moved.name.log}.reason.json").exists()


def test_loss_is_not_reported_again_after_discard_and_restart(held: PipelineHarness) -> None:
    """One segment's events are acknowledged late; of another segment only the index remains."""
    begun = held.raw.segment(1, 1, 1, 1)
    held.raw.index(begun, begun.records[1].end)
    held.raw.completed(2, 4)
    alone = held.raw.completed(3, 4)
    (held.raw.directory / alone.name.log).unlink()
    held.settle()
    held.raw.drop(begun)
    held.settle()
    held.acknowledge()
    held.pass_time(PATIENCE_S)
    for log in (begun, alone):
        assert held.ranges(log.name.id)
        discard(held.quarantine.directory, held.raw.directory, log.name, lambda *_: None)
    held.kill()
    held.settle()
    held.pass_time(PATIENCE_S)
    assert (list(held.quarantine.directory.iterdir()), held.raw.names()) == ([], set())
