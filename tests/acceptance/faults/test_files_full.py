"""Full and read-only file systems, one directory at a time."""

import os
from typing import Any

import pytest

from tests.acceptance.faults.filesystem_harness import FilesystemHarness, fill, mounted, remount
from tests.acceptance.faults.situation import situation
from tests.support.agents.agent_command import agent as command
from tests.support.agents.agent_directory import SCHEMA as UNRELATED_SCHEMA
from tests.support.agents.fault_reports import Report

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")


@situation("The file system of the offsets is full, then has room")
def test_segments_wait_for_offset_disk_space(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.offsets, "64k"):
        ballast = fill(harness.offsets)
        harness.put("batches", "collections")
        with harness.running() as agent:
            agent.until_not_ok("offsets_not_saved", "No space left on device")
            assert len(list(harness.cdc_raw.glob("*.log"))) == 2, "nothing leaves unsaved"
            ballast.unlink()
            agent.finish()
    report(harness.complete())


@pytest.mark.slow
@situation("The file system of the offsets turns read-only, then writable")
def test_segments_wait_for_writable_offsets(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.offsets, "1m"), harness.running() as agent:
        agent.until_ok()
        remount(harness.offsets, "ro")
        harness.put("batches", "collections")
        agent.until_not_ok("offsets_not_saved", "Read-only file system")
        assert len(list(harness.cdc_raw.glob("*.log"))) == 2
        remount(harness.offsets, "rw")
        agent.finish()
    report(harness.complete())


@pytest.mark.slow
@situation("`cdc_raw` turns read-only, then writable")
def test_segments_wait_for_a_writable_cdc_raw(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.cdc_raw, "16m"):
        # Without the schema of their tables the segments wait until the file system is read-only.
        text = harness.schema.read_text()
        harness.schema.write_text(UNRELATED_SCHEMA)
        harness.put("batches", "collections")
        with harness.running() as agent:
            agent.until("a blocked segment", lambda: agent.metric("cdc_blocked") == 1)
            remount(harness.cdc_raw, "ro")
            harness.schema.write_text(text)
            agent.until_not_ok("segment_not_removed", "Read-only file system")
            remount(harness.cdc_raw, "rw")
            agent.finish()
    report(harness.complete())


@pytest.mark.slow
@situation("`cdc_raw` is full while quarantined segments are requeued, then has room")
@pytest.mark.parametrize("room_bytes", [0, 64 << 10])
def test_requeue_waits_while_cdc_raw_is_full(
    harness: FilesystemHarness, report: Report, room_bytes: int
) -> None:
    """`room_bytes`: no space, or enough for the index but not for its segment."""
    error = harness.relocation / "error"
    error.mkdir()
    (log,) = harness.put("batches")
    for file in (log, log.with_name(f"{log.stem}_cdc.idx")):
        file.rename(error / file.name)
    (error / f"{log.name}.reason.json").write_text("{}")
    with mounted(harness.cdc_raw, "2m"):
        ballast = fill(harness.cdc_raw)
        os.truncate(ballast, ballast.stat().st_size - room_bytes)
        with harness.running() as agent:
            agent.until("an answer", lambda: agent.body() is not None)
            done = command(
                "quarantine", "retry", "--all", "--config", harness.folder / "cdc.properties"
            )
            assert done.exit_code == 0, done.errors
            agent.until_not_ok("segment_retry_pending", "No space left on device", log.name)
            assert [file.name for file in harness.cdc_raw.iterdir()] == ["ballast"]
            assert (error / log.name).stat().st_size == 1 << 20
            ballast.unlink()
            agent.until("the events", lambda: harness.outcome().lost == 0)
            agent.until("the quarantine to be empty", lambda: not any(error.iterdir()))
            agent.until_ok()
            assert agent.stop() == 0
    report(harness.outcome())


@pytest.mark.slow
@situation("The archive's file system is full, then has room")
def test_segments_wait_for_archive_space(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.relocation, "3m"):
        ballast = fill(harness.relocation)
        harness.put("batches", "collections")
        with harness.running({"commit.log.transfer.class": "archive"}) as agent:
            agent.until_not_ok("segment_not_removed", "No space left on device")
            assert len(list(harness.cdc_raw.glob("*.log"))) == 2
            ballast.unlink()
            agent.finish()
        archived = list((harness.relocation / "archive").glob("*.log"))
        assert [file.stat().st_size for file in archived] == [1 << 20] * 2
    report(harness.outcome())


@pytest.mark.slow
@situation("The archive's file system turns read-only, then writable")
def test_segments_wait_for_a_writable_archive(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.relocation, "4m"):
        harness.put("batches", "collections")
        with harness.running({"commit.log.transfer.class": "archive"}) as agent:
            agent.until_drained()
            remount(harness.relocation, "ro")
            harness.put("timestamps")
            agent.until_not_ok("segment_not_removed", "Read-only file system")
            remount(harness.relocation, "rw")
            agent.finish()
        assert len(list((harness.relocation / "archive").glob("*.log"))) == 3
    report(harness.outcome())


@situation("The quarantine's file system is full when a segment is damaged, then has room")
def test_full_quarantine_keeps_the_segment(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.relocation, "4m"):
        ballast = fill(harness.relocation)
        (damaged,) = harness.put("batches", is_damaged=True)
        harness.put("collections")
        with harness.running() as agent:
            agent.until_not_ok("quarantine_not_writable", "No space left on device")
            assert damaged.exists()
            ballast.unlink()
            agent.until_drained()
            agent.until_not_ok("segment_quarantined")
            assert agent.stop() == 0
        assert len(harness.recorded()) == 1
        (reason,) = harness.reasons()
        missing = harness.undelivered()
        in_range = [e for e in missing if is_on_record(e, reason)]
    report(harness.outcome(in_range))


@pytest.mark.slow
@situation("The quarantine's file system turns read-only when a segment is damaged, then writable")
def test_read_only_quarantine_keeps_the_segment(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.relocation, "4m"), harness.running() as agent:
        agent.until_ok()
        remount(harness.relocation, "ro")
        harness.put("batches", is_damaged=True)
        agent.until_not_ok("quarantine_not_writable", "Read-only file system")
        remount(harness.relocation, "rw")
        agent.until_drained()
        agent.until_not_ok("segment_quarantined")
        assert agent.stop() == 0
        (reason,) = harness.reasons()
        in_range = [e for e in harness.undelivered() if is_on_record(e, reason)]
    report(harness.outcome(in_range))


@pytest.mark.slow
@situation("The file system of the file sink is full, then has room")
def test_file_sink_resumes_after_disk_has_space(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.output, "8m"):
        ballast = fill(harness.output)
        harness.put("batches", "collections")
        with harness.running() as agent:
            agent.until_not_ok("sink_unavailable", "No space left on device")
            ballast.unlink()
            agent.finish()
        report(harness.complete())


@pytest.mark.slow
@situation("The file system of the file sink is read-only at the start, then writable")
def test_read_only_file_sink_fails_the_start(harness: FilesystemHarness, report: Report) -> None:
    with mounted(harness.output, "8m"):
        remount(harness.output, "ro")
        harness.put("batches")
        with harness.running() as agent:
            assert agent.ended() == 2
        assert "file.path" in agent.log_tail()
        remount(harness.output, "rw")
        with harness.running() as agent:
            agent.until_drained()
            assert agent.stop() == 0
        report(harness.outcome())


def is_on_record(event: str, reason: dict[str, Any]) -> bool:
    """True if the event belongs to the segment and ends in one of its recorded ranges."""
    segment_id, position = event.split("/")[:2]
    if reason["segment"] != f"CommitLog-7-{segment_id}.log":
        return False
    return any(
        each["start"] < int(position) and (each["end"] is None or int(position) <= each["end"])
        for each in reason["ranges"]
    )
