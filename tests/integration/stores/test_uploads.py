"""Finished segments sent to each kind of store, with a real server and a failing connection."""

import os
import signal
from collections.abc import Callable

import pytest

from agent.transfer.transfer import TransferDeferredError
from tests.integration.stores.harness import (
    FIRST,
    LARGE,
    MIB,
    SMALL,
    TransferHarness,
    completes,
    is_second_chunk,
    is_second_part,
    once,
    small_put,
)
from tests.support.servers.fault_proxy import Fault, Seen
from tests.support.servers.processes import wait_until
from tests.support.servers.s3 import refusal

pytestmark = pytest.mark.servers


def test_uploaded_segments_are_whole_and_removed_locally(harness: TransferHarness) -> None:
    harness.start()
    for number, content in enumerate((LARGE[1:], LARGE[2:], SMALL), 1):
        harness.give(number, content)
    harness.wait_until_sent()
    assert sorted(harness.names()) == sorted(harness.sent)
    assert harness.figure("cdc_transferred_segments_total") == 3
    assert harness.figure("cdc_transferred_bytes_total") == sum(map(len, harness.sent.values()))


@pytest.mark.parametrize(
    ("harness", "fault", "parts"),
    [
        ("gcs", Fault(status=401), ("Google rejects the default credentials",)),
        ("gcs", Fault(status=403), ("storage.objects.create",)),
        ("gcs", Fault(status=503), ("failed for CommitLog-7-1.log",)),
        ("s3", refusal(403, "AccessDenied"), ("denies access to s3://", "s3:PutObject")),
        ("s3", refusal(400, "ExpiredToken"), ("rejects the credentials", "renew")),
        ("s3", Fault(cut=True), ("does not answer for CommitLog-7-1.log",)),
    ],
    indirect=["harness"],
)
def test_store_error_is_reported_and_retried(
    harness: TransferHarness, fault: Fault, parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.integration.stores.harness.QuickGcsStore.REPEATS_S", 0.2)
    harness.proxy.plan = lambda seen: fault
    harness.start()
    harness.give(1, SMALL)
    message = harness.wait_for_error(parts[0])
    for part in parts:
        assert part in message
    assert harness.is_here(SMALL)
    wait_until(lambda: harness.figure("cdc_transfer_up") == 0, "the metric to show it")
    harness.proxy.plan = None
    harness.wait_until_sent()


@pytest.mark.parametrize(
    ("harness", "fault", "which"),
    [
        # The store then has a chunk twice in GCS, which the checksum detects.
        pytest.param("gcs", Fault(swallow=True), is_second_chunk, id="gcs lost response"),
        pytest.param("s3", Fault(cut=True), is_second_part, id="s3 cut"),
        pytest.param("s3", refusal(503, "SlowDown"), small_put, id="s3 slow down"),
        pytest.param("s3", Fault(swallow=True), completes, id="s3 lost response"),
        pytest.param("s3", Fault(swallow=True), small_put, id="s3 lost response, small"),
    ],
    indirect=["harness"],
)
def test_interrupted_upload_request_is_retried(
    harness: TransferHarness, fault: Fault, which: Callable[[Seen], bool]
) -> None:
    harness.proxy.plan = once(fault, which)
    harness.start()
    harness.give(1, LARGE)
    harness.give(2, SMALL)
    harness.wait_until_sent()


def test_missing_bucket_is_reported_until_created(harness: TransferHarness) -> None:
    harness.bucket += "-x"
    harness.start()
    harness.give(1, SMALL)
    message = harness.wait_for_error("does not exist")
    assert f"{harness.kind.scheme}://{harness.bucket}" in message
    harness.kind.server.create_bucket(harness.bucket)
    harness.wait_until_sent()


def test_different_object_is_never_overwritten(harness: TransferHarness) -> None:
    """Other segments are sent; after the removal of the object, this segment follows."""
    harness.put(FIRST, b"of somebody else")
    harness.start()
    harness.give(1, SMALL)
    other = harness.give(2, SMALL)
    message = harness.wait_for_error("has a different CommitLog-7-1.log")
    assert "does not overwrite" in message
    wait_until(lambda: harness.backlog_segments == 1, "the other one to be sent")
    assert harness.content(FIRST) == b"of somebody else"
    assert harness.content(other) == SMALL
    assert harness.is_here(SMALL)
    harness.kind.server.delete(harness.bucket, FIRST)
    harness.wait_until_sent()


def test_unreadable_segment_does_not_block_other_uploads(harness: TransferHarness) -> None:
    (harness.upload / "CommitLog-7-1.log").mkdir(parents=True)
    harness.start()
    name = harness.give(2, SMALL)
    harness.wait_for_error("CommitLog-7-1.log cannot be read: Is a directory.")
    wait_until(lambda: harness.backlog_segments == 1, "the other one to be sent")
    assert harness.content(name) == SMALL


@pytest.mark.parametrize(
    ("harness", "which", "content"),
    [
        pytest.param("gcs", is_second_chunk, LARGE, id="gcs"),
        pytest.param("s3", completes, LARGE, id="s3 large"),
        pytest.param("s3", small_put, SMALL, id="s3 small"),
    ],
    indirect=["harness"],
)
def test_object_created_during_the_upload_is_not_overwritten(
    harness: TransferHarness, which: Callable[[Seen], bool], content: bytes
) -> None:
    harness.proxy.plan = once(Fault(before=lambda: harness.put(FIRST, b"faster")), which)
    harness.start()
    harness.give(1, content)
    harness.wait_for_error("has a different CommitLog-7-1.log")
    assert harness.content(FIRST) == b"faster"
    assert harness.kind.unfinished(harness.bucket) == []


@pytest.mark.parametrize("sender", ["the agent", "another program"])
def test_segments_sent_before_a_kill_are_not_resent(harness: TransferHarness, sender: str) -> None:
    if sender == "the agent":
        harness.start()
        assert harness.give(1, LARGE) == FIRST
        harness.wait_until_sent()
        harness.close()
        harness.proxy.seen.clear()
    else:
        harness.put(FIRST, LARGE)
        harness.upload.mkdir(parents=True)
    sent_bytes = harness.figure("cdc_transferred_bytes_total")
    (harness.upload / "CommitLog-7-1.log").write_bytes(LARGE)
    (harness.upload / ".CommitLog-7-2.log.tmp").write_bytes(b"half of a move")
    harness.start()
    harness.wait_until_sent()
    assert {seen.method for seen in harness.proxy.seen} == {harness.kind.looks_with}
    assert harness.figure("cdc_transferred_bytes_total") == sent_bytes
    assert harness.content(FIRST) == LARGE


@pytest.mark.parametrize("harness", ["s3"], indirect=True)
def test_upload_interrupted_by_a_stop_is_sent_later(
    harness: TransferHarness,
) -> None:
    uploads = harness.start(in_worker=True)
    harness.proxy.plan = once(Fault(before=uploads.stop), harness.kind.is_second_part)
    name = harness.give(1, LARGE)
    wait_until(lambda: not uploads.is_running, "the end of the thread")
    assert harness.is_here(LARGE)
    assert name not in harness.names()
    harness.start()
    harness.wait_until_sent()


@pytest.mark.parametrize("harness", ["gcs"], indirect=True)
def test_killed_upload_worker_is_restarted(harness: TransferHarness) -> None:
    """The kernel kills the worker if memory runs out, unless it kills the whole container."""
    harness.start(in_worker=True)
    killed: list[str] = []

    def kill() -> None:
        os.kill(harness.worker_pid, signal.SIGKILL)
        killed.append(harness.wait_for_error("ended by SIGKILL; the agent restarts it"))

    harness.proxy.plan = once(Fault(before=kill), harness.kind.is_second_part)
    harness.give(1, LARGE)
    harness.wait_until_sent()
    assert len(killed) == 1


@pytest.mark.parametrize("harness", ["gcs"], indirect=True)
def test_full_backlog_defers_the_transfer(harness: TransferHarness) -> None:
    harness.proxy.plan = lambda seen: Fault(status=403)
    uploads = harness.start(max_bytes=MIB)
    harness.give(1, LARGE)
    assert harness.backlog_segments == 1, "one always has room"
    log = harness.raw / "CommitLog-7-2.log"
    log.write_bytes(SMALL)
    with pytest.raises(
        TransferDeferredError, match=r"is full .* commit\.log\.transfer\.backlog\.max\.bytes"
    ):
        uploads.transfer(log, log.with_name("CommitLog-7-2_cdc.idx"))
    assert log.exists()
    harness.proxy.plan = None
    harness.wait_until_sent()
    uploads.transfer(log, log.with_name("CommitLog-7-2_cdc.idx"))
    harness.wait_until_sent()
