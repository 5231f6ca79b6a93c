"""Directories that disappear and return, files that are not segments, and file permissions."""

import os
import socket
from pathlib import Path

import pytest

from tests.acceptance.faults.filesystem_harness import UID, FilesystemHarness, as_user
from tests.acceptance.faults.recorded import recording
from tests.acceptance.faults.situation import situation
from tests.support.agents.agent_directory import SCHEMA as UNRELATED_SCHEMA
from tests.support.agents.fault_reports import Report

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


@pytest.mark.slow
@situation("`cdc_raw` is moved away, then back")
def test_agent_resumes_with_restored_cdc_raw(harness: FilesystemHarness, report: Report) -> None:
    away = harness.cdc_raw.with_name("away")
    with harness.running() as agent:
        harness.put("batches")
        agent.until_drained()
        harness.cdc_raw.rename(away)
        agent.until_not_ok("cdc_raw_unreadable", "No such file or directory")
        away.rename(harness.cdc_raw)
        agent.until_ok()
        harness.put("collections", "timestamps")
        agent.until_drained()
        assert agent.stop() == 0
    report(harness.complete())


@situation("`cdc_raw` is removed and created again")
def test_agent_watches_a_recreated_cdc_raw(harness: FilesystemHarness, report: Report) -> None:
    with harness.running() as agent:
        harness.put("batches")
        agent.until_drained()
        for left in harness.cdc_raw.iterdir():
            left.unlink()
        harness.cdc_raw.rmdir()
        agent.until_not_ok("cdc_raw_unreadable", "No such file or directory")
        harness.cdc_raw.mkdir()
        agent.until_ok()
        assert agent.metric("cdc_inotify_active") == 1
        harness.put("collections")
        agent.until_drained()
        assert agent.stop() == 0
    report(harness.complete())


@pytest.mark.slow
@situation(
    "`cdc_raw` is replaced by a symbolic link to another directory while segments wait in it"
)
def test_agent_follows_cdc_raw_to_a_link(harness: FilesystemHarness, report: Report) -> None:
    target = harness.folder / "volume"
    text = harness.schema.read_text()
    harness.schema.write_text(UNRELATED_SCHEMA)
    harness.put("batches", "collections")
    with harness.running() as agent:
        agent.until("a blocked segment", lambda: agent.metric("cdc_blocked") == 1)
        agent.until_not_ok("segment_blocked")
        harness.cdc_raw.rename(target)
        agent.until("the watch to end", lambda: agent.metric("cdc_inotify_active") == 0)
        harness.cdc_raw.symlink_to(target)
        agent.until("a new watch", lambda: agent.metric("cdc_inotify_active") == 1)
        harness.schema.write_text(text)
        agent.finish()
    report(harness.complete())


@pytest.mark.slow
@situation("Segments disappear unread and come back")
def test_restored_segments_are_delivered(harness: FilesystemHarness, report: Report) -> None:
    text = harness.schema.read_text()
    harness.schema.write_text(UNRELATED_SCHEMA)
    paths = harness.put("batches", "collections")
    away = harness.folder / "away"
    with harness.running() as agent:
        agent.until("a blocked segment", lambda: agent.metric("cdc_blocked") == 1)
        harness.cdc_raw.rename(away)
        harness.cdc_raw.mkdir()
        agent.until("the loss to be on record", lambda: len(harness.recorded()) >= 1)
        agent.until_not_ok("segment_lost")
        harness.schema.write_text(text)
        for path in paths:
            for name in (f"{path.stem}_cdc.idx", path.name):
                (away / name).rename(harness.cdc_raw / name)
        agent.finish()
    report(harness.complete())


@pytest.mark.slow
@needs_root
@situation("Segments belong to another user with mode 0600; the agent is not root")
def test_unreadable_segments_wait_for_rights(harness: FilesystemHarness, report: Report) -> None:
    paths = harness.put("batches", "collections")
    for path in paths:
        path.chmod(0o600)
    harness.give(UID)
    first = min(paths)
    short = {"segment.blocked.timeout.ms": "1000"}
    with harness.running(short, as_user(UID)) as agent:
        body = agent.until_not_ok(
            f"{first} has owner root (uid 0)", "mode 0600", f"uid {UID}", f"chgrp {UID} {first}"
        )
        assert "Permission denied (EACCES)" in body
        agent.until("four seconds of waiting", lambda: agent.metric("cdc_blocked_seconds") > 4)
        assert agent.stop() == 0
    with harness.running(short, as_user(UID)) as agent:
        agent.until_not_ok("mode 0600")
        agent.until("two seconds of waiting", lambda: agent.metric("cdc_blocked_seconds") > 2)
        assert harness.recorded() == []
        assert all(path.exists() for path in paths)
        for path in paths:
            os.chown(path, 0, UID)
            path.chmod(0o640)
        agent.finish()
    report(harness.complete())


@needs_root
@situation(
    "The agent's user loses the rights to `cdc_raw` while the agent runs, then gets them back"
)
def test_inaccessible_cdc_raw_is_reported(harness: FilesystemHarness, report: Report) -> None:
    harness.give(UID)
    with harness.running(prefix=as_user(UID)) as agent:
        agent.until_ok()
        os.chown(harness.cdc_raw, 0, 0)
        harness.cdc_raw.chmod(0o700)
        harness.put("batches", "collections")
        agent.until_not_ok("Permission denied", "mode 0700", f"uid {UID}", "chgrp")
        harness.cdc_raw.chmod(0o744)
        agent.until_not_ok("Permission denied", "mode 0744")
        os.chown(harness.cdc_raw, UID, UID)
        agent.finish()
    report(harness.complete())


@situation("`cdc_raw` has links, directories and other files with names like segments")
def test_files_named_like_segments_block_nothing(
    harness: FilesystemHarness, report: Report
) -> None:
    raw = harness.cdc_raw
    huge = 1 << 63
    (raw / f"CommitLog-7-{huge}.log").write_bytes(b"x" * 100)
    (raw / "CommitLog-7-0017.log").write_bytes(b"x" * 100)
    (raw / "CommitLog-99999999999-1.log").write_bytes(b"x" * 100)
    (raw / "CommitLog-1.log").write_bytes(b"x" * 100)
    (raw / "CommitLog-7-3.log").mkdir()
    os.mkfifo(raw / "CommitLog-7-4.log")
    os.mkfifo(raw / "CommitLog-7-5_cdc.idx")
    (raw / "CommitLog-7-6.log").symlink_to(raw / "nowhere")
    (raw / "CommitLog-7-7.log").symlink_to(raw / "CommitLog-7-7.log")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(raw)
    try:
        listener.bind("CommitLog-7-8.log")
    finally:
        os.chdir(here)
    (raw / "CommitLog-7-9_cdc.idx").write_bytes(os.urandom(300))
    (raw / "notes.txt").write_text("of somebody")
    names = {file.name for file in raw.iterdir()}
    recorded = harness.put("batches", "collections")
    with listener, harness.running() as agent:
        agent.until_not_ok("segment_not_regular_file", "CommitLog-7-3.log")
        agent.until("the events", lambda: harness.outcome().lost == 0)
        agent.until("recorded segments to leave", lambda: not any(p.exists() for p in recorded))
        assert agent.stop() == 0
    assert {file.name for file in raw.iterdir()} == names
    report(harness.complete())


@pytest.mark.slow
@situation(
    "Empty, random and huge sparse files have names of segments, and indexes with `COMPLETED`"
)
def test_garbage_segments_are_quarantined(harness: FilesystemHarness, report: Report) -> None:
    garbage = {1: b"", 2: os.urandom(4096), 3: b"\0" * 4096}
    for number, content in garbage.items():
        path = harness.cdc_raw / f"CommitLog-7-{number}.log"
        path.write_bytes(content)
        path.with_name(f"{path.stem}_cdc.idx").write_text("4096\nCOMPLETED\n")
    sparse = harness.cdc_raw / "CommitLog-7-4.log"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    sparse.with_name(f"{sparse.stem}_cdc.idx").write_text(f"{1 << 40}\nCOMPLETED\n")
    harness.put("batches", "collections")
    with harness.running() as agent:
        agent.until("the events", lambda: harness.outcome().lost == 0)
        agent.until_not_ok("4 segments have undelivered changes")
        agent.until_drained()
        assert agent.stop() == 0
    # Holes do not count towards the quarantine's limit.
    assert (harness.relocation / "error" / sparse.name).stat().st_size == 1 << 40
    assert [reason["segment"] for reason in harness.reasons()] == [
        f"CommitLog-7-{number}.log" for number in (1, 2, 3, 4)
    ]
    report(harness.outcome())


@pytest.mark.slow
@situation("An index goes backwards, then holds garbage, then `COMPLETED`")
def test_invalid_index_pauses_its_segment(harness: FilesystemHarness, report: Report) -> None:
    found = recording("batches")
    middle = found.lines[len(found.lines) // 2]["pos"]
    (path,) = harness.put("batches", idx=f"{middle}\n")
    idx = path.with_name(f"{path.stem}_cdc.idx")
    # Linked elsewhere, as by a node that still writes the segment.
    (harness.folder / "commitlog").hardlink_to(path)
    with harness.running() as agent:
        agent.until(
            "half of the events", lambda: len(harness.undelivered()) < len(harness.expected)
        )
        delivered = len(harness.expected) - len(harness.undelivered())
        idx.write_text("100\n")
        idx.write_bytes(b"\xff" * 20)
        agent.until_not_ok("cdc_raw_unreadable", idx.name)
        assert len(harness.expected) - len(harness.undelivered()) == delivered
        idx.write_text(found.idx)
        agent.finish()
    report(harness.complete())


@situation("A second agent is started over the same directories")
def test_second_agent_of_a_directory_exits(harness: FilesystemHarness, report: Report) -> None:
    harness.put("batches")
    with harness.running() as first:
        first.until_drained()
        second = harness.running()
        second.log_file = harness.folder / "second.log"
        with second:
            assert second.ended() == 3
        assert str(harness.cdc_raw) in second.log_tail()
        harness.put("collections")
        first.finish()
    report(harness.outcome())
