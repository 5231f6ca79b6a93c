"""The agent's part of the status page, its list of the quarantine, and Debezium's attributes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import ObservedLog
from agent.quarantine.entries import discard
from agent.quarantine.scanner import QuarantinedFiles, QuarantineUsage
from agent.schema.write_options import WriteOptions
from agent.segments.state import Segment
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot
from agent.snapshot.ring import TokenRange
from agent.status.debezium import snapshot_attributes, streaming_attributes
from agent.status.summary import QuarantineCommands, SegmentSummaryParts
from sidecar.page.summary import AgentSummary, Summary
from tests.support.agents.status_harness import StatusHarness


def summary(site: StatusHarness) -> Summary:
    metrics = site.harness.metrics
    made = AgentSummary(
        lambda: site.status.view,
        SegmentSummaryParts(site.status),
        events=(metrics.events, metrics.snapshot_rows),
        quarantined=metrics.quarantined,
        quarantine_max_bytes=500,
    )
    return made(site.status.health())


def message(site: StatusHarness) -> str:
    return site.status.health().message


def test_summary_before_delivery_is_starting_with_empty_attributes(site: StatusHarness) -> None:
    assert summary(site).state == "starting"
    assert streaming_attributes(None, site.harness.metrics) == {
        "CommitLogFilename": None,
        "CommitLogPosition": -1,
        "NumberOfProcessedMutations": 0,
        "NumberOfUnrecoverableErrors": 0,
        "CdcDirectoryTotalBytes": 0,
    }


def test_summary_tracks_progress_of_live_segment(begun: StatusHarness) -> None:
    log = begun.raw.live(1, 2, 1)
    begun.settle()
    shown = summary(begun)
    assert shown.state == "ok"
    assert "wait" in message(begun)
    (bar,) = shown.progress
    assert (bar.name, bar.done, bar.read) == (log.name.log, 0, log.end)
    assert bar.done <= bar.read <= bar.there <= bar.size
    assert {each.name: each.value for each in shown.stats}["Unacknowledged events"] == 3
    begun.acknowledge()
    begun.harness.metrics.snapshot_rows.labels("ks.t").inc(4)
    shown = summary(begun)
    assert message(begun) == "All changes that the node has synced are delivered."
    assert shown.progress[0].done == log.end
    assert sum(n for each in shown.counts for n in each.by_kind.values()) == 7
    told = streaming_attributes(begun.status.view, begun.harness.metrics)
    assert (told["CommitLogFilename"], told["CommitLogPosition"]) == (log.name.log, log.end)
    assert told["NumberOfProcessedMutations"] == 2
    assert told["CdcDirectoryTotalBytes"] == begun.harness.view.raw_bytes > 0


def test_words_for_segments_depend_on_acknowledgements(begun: StatusHarness) -> None:
    empty = Segment(SegmentName(1, 7), log=ObservedLog(size_bytes=100, link_count=2))
    unread = replace(empty, idx=Idx(offset=50))
    read = replace(unread, read_position=50, ended_at=50)
    segments = (
        *(empty, unread, replace(unread, read_position=20), read),
        replace(read, acknowledged_position=50),
        replace(read, is_final=True, is_read_to_end=True),
    )
    view = replace(begun.harness.view, all_segments=lambda: segments)
    words = [bar.state for bar in SegmentSummaryParts(begun.status).progress(view)]
    assert words == ["empty", "unread", "partly_read", "unacknowledged", "idle", "unacknowledged"]


def test_page_lists_running_snapshots(begun: StatusHarness) -> None:
    copied = TableSnapshot("1", "ks.a", 0, offsets={TokenRange(0, 10): 5}, rows=7)
    tables = {"1": copied, "2": replace(copied, state=State.STOPPED)}
    vars(begun.status)["snapshot"] = SimpleNamespace(offsets=SnapshotOffsets("n", tables))
    (line,) = SegmentSummaryParts(begun.status).snapshots(begun.harness.view)
    assert (line.name, line.state, line.rows, line.share) == ("ks.a", "copying", 7, 0.5)


def test_streaming_attributes_retain_last_removed_segment(begun: StatusHarness) -> None:
    log = begun.raw.completed(1, 2)
    begun.settle()
    begun.acknowledge()
    assert summary(begun).progress == ()
    told = streaming_attributes(begun.status.view, begun.harness.metrics)
    assert told["CommitLogFilename"] == log.name.log


def test_unavailable_broker_is_the_status_message(begun: StatusHarness) -> None:
    begun.harness.sink.go_away("no broker answers")
    begun.pass_time(1)
    assert summary(begun).state == "failing"
    assert message(begun) == "Events are not delivered: no broker answers."
    assert "no broker" in begun.component("sink").message
    assert (begun.status.live().ok, begun.status.ready().ok) == (True, False)


def test_blocked_segment_fails_the_status(begun: StatusHarness) -> None:
    begun.raw.completed(1).add(1, table="ks.new")
    begun.settle()
    shown = summary(begun)
    assert (shown.state, [bar.state for bar in shown.progress]) == ("failing", ["blocked"])
    assert "ks.new is not known" in message(begun)
    assert [part.name for part in begun.status.health().components if not part.ok] == ["cdc_raw"]
    assert b"cdc_blocked 1.0" in begun.status.metrics()


def test_status_message_contains_quarantined_segment_and_remedy(begun: StatusHarness) -> None:
    """Regression: the page reported that all changes are delivered."""
    log = begun.raw.completed(1, 2).add(1, is_damaged=True)
    begun.settle()
    begun.harness.sink.acknowledge()
    begun.pass_time(6)
    assert summary(begun).state == "degraded"
    assert message(begun) == (f"1 segment has undelivered changes (1 range): {log.name.log}.")
    (condition,) = begun.status.health().status.conditions
    assert f"`agent quarantine retry {log.name.log}`" in condition.remedy
    quarantine, cdc_raw = (begun.harness.quarantine.directory, begun.raw.directory)
    discard(quarantine, cdc_raw, log.name, lambda directory, name: None)
    begun.pass_time(6)
    assert summary(begun).state == "ok"
    assert message(begun) == "All changes that the node has synced are delivered."


def test_page_forecasts_when_cdc_raw_is_full(begun: StatusHarness) -> None:
    begun.harness.sink.go_away("no broker answers")
    for number in range(1, 6):
        begun.raw.completed(number, 1)
        for _ in range(2):
            begun.harness.look()
            begun.pass_time(10)
    raw = next(each for each in summary(begun).stats if each.name == "cdc_raw")
    assert raw.limit == 1000
    assert raw.note.startswith("full in ")
    assert b"cdc_raw_time_to_full_seconds" in begun.status.metrics()
    assert 0 < begun.status.raw_full_in_s(begun.harness.view) < 1000


def test_snapshot_attributes_use_debezium_names() -> None:
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


def test_page_notes_unknown_unlogged_writes(site: StatusHarness) -> None:
    site.feeder.write_options = WriteOptions({}, {"ks.t": {}})
    site.begin()
    site.settle()
    (note,) = summary(site).notes
    assert "no CREATE KEYSPACE for ks" in note


NAME = "CommitLog-7-1.log"
COMMANDS = QuarantineCommands(" --config /etc/cdc.properties")


def test_empty_quarantine_lists_no_items() -> None:
    held = COMMANDS.content(QuarantineUsage())
    assert (held.message, held.items, held.commands) == ("The quarantine is empty.", (), ())


@pytest.mark.parametrize(
    ("files", "first", "count"),
    [
        (QuarantinedFiles(NAME, True, ranges=2), f"quarantine retry {NAME}", 2),
        (QuarantinedFiles(NAME, False, ranges=1), f"quarantine discard {NAME}", 1),
        (QuarantinedFiles("snapshot-ks.t", False, dead_letters=1), "snapshot start ks.t", 2),
    ],
    ids=["readable", "missing", "snapshot"],
)
def test_quarantine_item_lists_its_commands(
    files: QuarantinedFiles, first: str, count: int
) -> None:
    usage = QuarantineUsage(5, 1, available=int(files.is_available), oldest=(files,))
    (item,) = COMMANDS.content(usage).items
    discard = f"agent quarantine discard {files.name} --config /etc/cdc.properties"
    lines = [f"agent {first} --config /etc/cdc.properties", discard]
    assert [each.command for each in item.commands] == lines[:count]


def test_quarantine_content_lists_causes_and_hidden_count() -> None:
    files = QuarantinedFiles(
        NAME, False, 1, 2, ("checksum",), "2026-01-31T12:00:00+00:00", is_retry_requested=True
    )
    held = COMMANDS.content(
        QuarantineUsage(5, 3, missing=1, ranges=1, dead_letters=2, oldest=(files,))
    )
    assert (held.message, held.hidden) == ("3 items: 1 undelivered range and 2 dead letters.", 2)
    (item,) = held.items
    assert item.content == (
        "1 undelivered range, 2 dead letters, the segment file is missing, a retry is requested"
    )
    assert item.causes[0] == "checksum"
    assert f"{NAME}.events.ndjson" in item.causes[1]
