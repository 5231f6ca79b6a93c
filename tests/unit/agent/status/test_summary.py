"""What the page tells of the agent, and what Debezium's names tell."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.quarantine.entries import discard
from agent.schema.write_options import WriteOptions
from agent.snapshot.offsets import State, TableSnapshot
from agent.snapshot.ring import TokenRange
from agent.status.debezium import snapshot_attributes, streaming_attributes
from agent.status.summary import SegmentSummaryParts
from sidecar.page.agent_summary import AgentSummary
from sidecar.page.summary import Summary
from tests.support.agents.status_harness import StatusHarness


@pytest.fixture
def status_harness(tmp_path: Path) -> Iterator[StatusHarness]:
    (tmp_path / "status_harness").mkdir()
    status_harness = StatusHarness(tmp_path / "status_harness")
    yield status_harness
    status_harness.holder.close()
    status_harness.harness.pipeline.loop.abandon()


def summary(status_harness: StatusHarness) -> Summary:
    metrics = status_harness.harness.metrics
    made = AgentSummary(
        lambda: status_harness.status.view,
        SegmentSummaryParts(status_harness.status),
        events=metrics.events,
        quarantined=metrics.quarantined,
        quarantine_max_bytes=500,
    )
    return made(status_harness.status.health())


def message(status_harness: StatusHarness) -> str:
    return status_harness.status.health().message


def test_summary_names_the_pending_step_before_delivery(status_harness: StatusHarness) -> None:
    assert summary(status_harness).state == "starting"
    assert streaming_attributes(None, status_harness.harness.metrics) == {
        "CommitLogFilename": None,
        "CommitLogPosition": -1,
        "NumberOfProcessedMutations": 0,
        "NumberOfUnrecoverableErrors": 0,
        "CdcDirectoryTotalBytes": 0,
    }


def test_a_segment_on_its_way(status_harness: StatusHarness) -> None:
    status_harness.begin()
    log = status_harness.harness.raw.segment(1, 2, 1)
    status_harness.harness.raw.index(log, log.end)
    status_harness.harness.settle()
    shown = summary(status_harness)
    assert shown.state == "ok"
    assert "wait" in message(status_harness)
    (bar,) = shown.progress
    assert (bar.name, bar.done, bar.read) == (log.name.log, 0, log.end)
    assert bar.done <= bar.read <= bar.there <= bar.size
    assert {each.name: each.value for each in shown.stats}["Unacknowledged events"] == 3
    status_harness.harness.sink.acknowledge()
    status_harness.harness.settle()
    shown = summary(status_harness)
    assert message(status_harness) == "All changes that the node has synced are delivered."
    assert shown.progress[0].done == log.end
    assert sum(n for each in shown.counts for n in each.by_kind.values()) == 3
    told = streaming_attributes(status_harness.status.view, status_harness.harness.metrics)
    assert told["CommitLogFilename"] == log.name.log
    assert told["CommitLogPosition"] == log.end
    assert told["NumberOfProcessedMutations"] == 2
    assert told["CdcDirectoryTotalBytes"] == status_harness.harness.view.raw_bytes > 0


def test_a_segment_that_has_left_is_still_named(status_harness: StatusHarness) -> None:
    status_harness.begin()
    log = status_harness.harness.raw.completed(1, 2)
    status_harness.harness.settle()
    status_harness.harness.sink.acknowledge()
    status_harness.harness.settle()
    assert summary(status_harness).progress == ()
    told = streaming_attributes(status_harness.status.view, status_harness.harness.metrics)
    assert told["CommitLogFilename"] == log.name.log


def test_a_broker_that_is_away_is_the_sentence(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.sink.go_away("no broker answers")
    status_harness.harness.pass_time(1)
    assert summary(status_harness).state == "failing"
    assert message(status_harness) == "Events are not delivered: no broker answers."


def test_a_blocked_segment_needs_attention(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.raw.completed(1).add(1, table="ks.new")
    status_harness.harness.settle()
    shown = summary(status_harness)
    assert shown.state == "failing"
    assert "ks.new is not known" in message(status_harness)
    assert [bar.state for bar in shown.progress] == ["blocked"]


def test_the_headline_names_a_quarantined_segment_and_its_command(
    status_harness: StatusHarness,
) -> None:
    """The page reported that all changes are delivered."""
    status_harness.begin()
    log = status_harness.harness.raw.completed(1, 2)
    log.add(1, is_damaged=True)
    status_harness.harness.settle()
    status_harness.harness.sink.acknowledge()
    status_harness.harness.pass_time(6)
    assert summary(status_harness).state == "degraded"
    assert message(status_harness) == (
        f"1 segment has undelivered changes (1 range): {log.name.log}."
    )
    (condition,) = status_harness.status.health().status.conditions
    assert f"`agent quarantine retry {log.name.log}`" in condition.remedy
    quarantine, cdc_raw = (
        status_harness.harness.quarantine.directory,
        status_harness.harness.raw.directory,
    )
    discard(quarantine, cdc_raw, log.name, lambda directory, name: None)
    status_harness.harness.pass_time(6)
    assert summary(status_harness).state == "ok"
    assert message(status_harness) == "All changes that the node has synced are delivered."


def test_it_says_when_cdc_raw_will_be_full(status_harness: StatusHarness) -> None:
    status_harness.begin()
    status_harness.harness.sink.go_away("no broker answers")
    for number in range(1, 6):
        status_harness.harness.raw.completed(number, 1)
        for _ in range(2):
            status_harness.harness.look()
            status_harness.harness.pass_time(10)
    raw = next(each for each in summary(status_harness).stats if each.name == "cdc_raw")
    assert raw.limit == 1000
    assert raw.note.startswith("full in ")
    assert b"cdc_raw_time_to_full_seconds" in status_harness.status.metrics()
    assert 0 < status_harness.status.raw_full_in_s < 1000


def test_copies_of_tables_by_debeziums_names() -> None:
    begun = TableSnapshot("1", "ks.a", 1_000_000, offsets={TokenRange(0, 10): 5}, rows=7)
    done = TableSnapshot("2", "ks.b", 1_000_000, State.COMPLETED, rows=3)
    told = snapshot_attributes([begun, done], wall_s=61.5)
    assert told == {
        "TotalTableCount": 2,
        "RemainingTableCount": 1,
        "SnapshotRunning": True,
        "SnapshotCompleted": False,
        "SnapshotAborted": False,
        "SnapshotDurationInSeconds": 60,
        "RowsScanned": {"ks.a": 7, "ks.b": 3},
    }
    told = snapshot_attributes([done], wall_s=61.5)
    assert told["SnapshotCompleted"]
    assert told["SnapshotDurationInSeconds"] == 0
    assert snapshot_attributes([replace(begun, state=State.STOPPED)], 61.5)["SnapshotAborted"]
    assert not snapshot_attributes([], 61.5)["SnapshotCompleted"]


def test_the_page_notes_that_unlogged_writes_are_unknown(status_harness: StatusHarness) -> None:
    status_harness.feeder.write_options = WriteOptions({}, {"ks.t": {}})
    status_harness.begin()
    status_harness.harness.settle()
    (note,) = summary(status_harness).notes
    assert "no CREATE KEYSPACE of ks" in note
