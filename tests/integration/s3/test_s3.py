"""Finished segments sent to S3, by a server of its protocol and a way to it that fails."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.metrics import AgentMetrics
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.metrics import DeliveryMetrics
from sidecar.store.remote_directory import RemoteDirectory
from sidecar.store.s3 import S3Store
from sidecar.store.settings import S3Options, StoreSettings
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.servers.gcs import Fault, FaultProxy, Seen
from tests.support.servers.processes import wait_until
from tests.support.servers.s3 import S3Server, refusal

pytestmark = pytest.mark.servers

MIB = 1 << 20
# Three parts.
LARGE = random.Random(1).randbytes(11 * MIB)
SMALL = b"a small segment"


class TransferHarness:
    """Directories, a bucket with a way to it, and uploads that can be begun again."""

    def __init__(self, folder: Path, server: S3Server, proxy: FaultProxy, bucket: str) -> None:
        self.raw = folder / "cdc_raw"
        self.raw.mkdir()
        self.upload = folder / "relocation" / "upload"
        self.server = server
        self.proxy = proxy
        self.bucket = bucket
        self.metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
        self.uploads: UploadQueue | None = None
        self.store: SubprocessStore | None = None

    def start(self, **options: str | bool) -> UploadQueue:
        directory = RemoteDirectory(self.bucket, "cdc/node-1/archive", "s3")
        s3 = S3Options(endpoint=self.proxy.url, **options)  # type: ignore[arg-type]
        self.store = SubprocessStore(S3Store(directory, StoreSettings(timeout_s=5, s3=s3)))
        settings = UploadSettings(self.upload, 100 * MIB, 0.01, 0.05)
        self.uploads = UploadQueue(self.store, settings, self.metrics)
        self.uploads.open()
        return self.uploads

    def give(self, number: int, content: bytes) -> str:
        """A finished segment; gives the name that its object gets."""
        log = self.raw / f"CommitLog-7-{number}.log"
        log.write_bytes(content)
        idx = self.raw / f"CommitLog-7-{number}_cdc.idx"
        idx.write_text(f"{len(content)}\nCOMPLETED")
        assert self.uploads is not None
        self.uploads.transfer(log, idx)
        return f"cdc/node-1/archive/{log.name}"

    def wait_until_sent(self) -> None:
        wait_until(
            lambda: (
                self.backlog_segments == 0
                and self.figure("cdc_transfer_backlog_segments") == 0
                and self.figure("cdc_transfer_up") == 1
            ),
            "the last segment to be sent",
        )
        assert list(self.upload.iterdir()) == []

    def wait_for_error(self, part: str) -> str:
        uploads = self.uploads
        assert uploads is not None
        wait_until(lambda: part in uploads.backlog.error, f"{part!r} to be reported")
        message = uploads.backlog.error
        assert message.endswith(".")
        assert "\n" not in message
        assert os.environ.get("AWS_SECRET_ACCESS_KEY", "a secret") not in message
        return message

    @property
    def backlog_segments(self) -> int:
        assert self.uploads is not None
        return self.uploads.backlog.segments

    def content(self, name: str) -> bytes:
        return self.server.content(self.bucket, name)

    def figure(self, name: str) -> float | None:
        return self.metrics.delivery.registry.get_sample_value(name)

    def close(self) -> None:
        if self.uploads is not None:
            self.uploads.close(60)


@pytest.fixture
def harness(tmp_path: Path, server: S3Server) -> Iterator[TransferHarness]:
    bucket = f"bucket-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")
    server.create_bucket(bucket)
    with FaultProxy(server.port) as proxy:
        harness = TransferHarness(tmp_path, server, proxy, bucket)
        yield harness
        proxy.plan = None
        harness.close()


def once(fault: Fault, which: Callable[[Seen], bool]) -> Callable[[Seen], Fault | None]:
    """The fault for the first request of that kind."""
    left = [fault]
    return lambda seen: left.pop() if left and which(seen) else None


def second_part(seen: Seen) -> bool:
    return seen.method == "PUT" and "partNumber=2" in seen.path


def completes(seen: Seen) -> bool:
    return seen.method == "POST" and "uploadId=" in seen.path


def small_put(seen: Seen) -> bool:
    return seen.method == "PUT" and seen.path.endswith(".log")


def test_segments_are_sent_whole_and_then_gone_here(harness: TransferHarness) -> None:
    harness.start()
    names = [harness.give(1, LARGE), harness.give(2, SMALL)]
    harness.wait_until_sent()
    assert [harness.content(name) for name in names] == [LARGE, SMALL]
    idx = names[1].replace(".log", "_cdc.idx")
    assert harness.content(idx).decode() == f"{len(SMALL)}\nCOMPLETED"
    assert len(harness.server.names(harness.bucket)) == 4
    assert harness.figure("cdc_transferred_segments_total") == 2
    assert harness.server.unfinished_uploads(harness.bucket) == []


@pytest.mark.parametrize(
    ("fault", "which"),
    [
        (Fault(cut=True), second_part),
        (refusal(503, "SlowDown"), small_put),
        (Fault(swallow=True), completes),
        (Fault(swallow=True), small_put),
    ],
    ids=["cut", "slow down", "lost response", "lost response of a small object"],
)
def test_interrupted_request_is_repeated(
    harness: TransferHarness, fault: Fault, which: Callable[[Seen], bool]
) -> None:
    harness.proxy.plan = once(fault, which)
    harness.start()
    names = {harness.give(1, LARGE): LARGE, harness.give(2, SMALL): SMALL}
    harness.wait_until_sent()
    for name, content in names.items():
        assert harness.content(name) == content


@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_stored_object_with_other_content_keeps_the_segment_here(
    harness: TransferHarness, content: bytes
) -> None:
    """A server that stores less than it confirms."""
    name = "cdc/node-1/archive/CommitLog-7-1.log"

    def spoil() -> None:
        harness.server.put(harness.bucket, name, content[:-1])

    uploads_done: list[str] = []

    def plan(seen: Seen) -> Fault | None:
        if completes(seen) or small_put(seen):
            uploads_done.append(seen.path)
        elif uploads_done and seen.method == "HEAD" and seen.path.endswith("1.log"):
            return Fault(before=spoil)
        return None

    harness.proxy.plan = plan
    harness.start()
    harness.give(1, content)
    harness.wait_for_error("has a different CommitLog-7-1.log")
    assert (harness.upload / "CommitLog-7-1.log").read_bytes() == content


@pytest.mark.parametrize(
    ("fault", "parts"),
    [
        (refusal(403, "AccessDenied"), ("denies access to s3://", "s3:PutObject")),
        (refusal(400, "ExpiredToken"), ("rejects the credentials", "renew")),
    ],
)
def test_error_of_the_store_is_reported_and_retried(
    harness: TransferHarness, fault: Fault, parts: tuple[str, ...]
) -> None:
    harness.proxy.plan = lambda seen: fault
    harness.start()
    name = harness.give(1, SMALL)
    message = harness.wait_for_error(parts[0])
    for part in parts:
        assert part in message
    assert (harness.upload / "CommitLog-7-1.log").exists()
    wait_until(lambda: harness.figure("cdc_transfer_up") == 0, "the metric to show it")
    harness.proxy.plan = None
    harness.wait_until_sent()
    assert harness.content(name) == SMALL


def test_missing_credentials_are_named_and_found_later(
    harness: TransferHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    for name in keys:
        monkeypatch.delenv(name)
    harness.start()
    name = harness.give(1, SMALL)
    harness.wait_for_error("No credentials for S3")
    file = Path(os.environ["AWS_SHARED_CREDENTIALS_FILE"])
    lines = [f"{key.lower()} = {value}" for key, value in keys.items()]
    for key, value in keys.items():
        monkeypatch.setenv(key, value)
    file.write_text("\n".join(["[default]", *lines]))
    harness.wait_until_sent()
    assert harness.content(name) == SMALL


def test_server_that_is_away_is_named(harness: TransferHarness) -> None:
    harness.proxy.plan = lambda seen: Fault(cut=True)
    harness.start()
    harness.give(1, SMALL)
    harness.wait_for_error("does not answer for CommitLog-7-1.log")
    harness.proxy.plan = None
    harness.wait_until_sent()


def test_missing_bucket_is_named(harness: TransferHarness) -> None:
    there = harness.bucket
    harness.bucket = f"{there}-x"
    harness.start()
    harness.give(1, SMALL)
    assert f"s3://{there}-x" in harness.wait_for_error("does not exist")
    harness.server.create_bucket(harness.bucket)
    harness.wait_until_sent()


def test_other_object_is_never_overwritten(harness: TransferHarness) -> None:
    """Others go on."""
    name = "cdc/node-1/archive/CommitLog-7-1.log"
    harness.server.put(harness.bucket, name, b"of somebody else")
    harness.start()
    harness.give(1, SMALL)
    other = harness.give(2, SMALL)
    message = harness.wait_for_error("has a different CommitLog-7-1.log")
    assert "does not overwrite" in message
    wait_until(lambda: harness.backlog_segments == 1, "the other one to be sent")
    assert harness.content(name) == b"of somebody else"
    assert harness.content(other) == SMALL


@pytest.mark.parametrize(
    ("which", "content"), [(completes, LARGE), (small_put, SMALL)], ids=["large", "small"]
)
def test_object_created_during_the_upload_is_not_overwritten(
    harness: TransferHarness, which: Callable[[Seen], bool], content: bytes
) -> None:
    name = "cdc/node-1/archive/CommitLog-7-1.log"
    harness.proxy.plan = once(
        Fault(before=lambda: harness.server.put(harness.bucket, name, b"faster")), which
    )
    harness.start()
    harness.give(1, content)
    harness.wait_for_error("has a different CommitLog-7-1.log")
    assert harness.content(name) == b"faster"
    assert harness.server.unfinished_uploads(harness.bucket) == []


def test_segments_sent_before_a_kill_are_not_sent_again(harness: TransferHarness) -> None:
    harness.start()
    name = harness.give(1, LARGE)
    harness.wait_until_sent()
    harness.close()
    harness.proxy.seen.clear()
    (harness.upload / "CommitLog-7-1.log").write_bytes(LARGE)
    harness.start()
    harness.wait_until_sent()
    assert {seen.method for seen in harness.proxy.seen} == {"HEAD"}
    assert harness.content(name) == LARGE


def test_stop_during_an_upload_is_quick_and_the_next_start_sends_it(
    harness: TransferHarness,
) -> None:
    uploads = harness.start()
    harness.proxy.plan = once(Fault(before=lambda: uploads.close(60)), second_part)
    name = harness.give(1, LARGE)
    wait_until(lambda: not uploads.is_running, "the end of the thread")
    assert name not in harness.server.names(harness.bucket)
    harness.start()
    harness.wait_until_sent()
    assert harness.content(name) == LARGE
    assert harness.server.unfinished_uploads(harness.bucket) == [], "those of the kill are freed"


def test_killed_worker_process_is_restarted_and_the_segment_sent(harness: TransferHarness) -> None:
    harness.start()
    killed: list[str] = []

    def kill() -> None:
        assert harness.store is not None
        assert harness.store.pid is not None
        os.kill(harness.store.pid, signal.SIGKILL)
        killed.append(harness.wait_for_error("ended by SIGKILL; the agent restarts it"))

    harness.proxy.plan = once(Fault(before=kill), second_part)
    name = harness.give(1, LARGE)
    harness.wait_until_sent()
    assert len(killed) == 1
    assert harness.content(name) == LARGE
    assert harness.server.unfinished_uploads(harness.bucket) == []


@pytest.mark.skipif("S3_SERVER_URL" in os.environ, reason="not every server has these")
def test_objects_have_the_configured_properties(harness: TransferHarness) -> None:
    harness.start(encryption="aws:kms", kms_key_id="key-1", storage_class="STANDARD_IA")
    names = [harness.give(1, LARGE), harness.give(2, SMALL)]
    harness.wait_until_sent()
    for name in names:
        facts = harness.server.facts(harness.bucket, name)
        assert facts["ServerSideEncryption"] == "aws:kms"
        assert "key-1" in facts["SSEKMSKeyId"]
        assert facts["StorageClass"] == "STANDARD_IA"
        assert len(facts["Metadata"]["sha256"]) == 64


def test_server_without_conditional_writes_is_usable(harness: TransferHarness) -> None:
    harness.start(conditional_writes=False)
    names = {harness.give(1, LARGE): LARGE, harness.give(2, SMALL): SMALL}
    harness.wait_until_sent()
    for name, content in names.items():
        assert harness.content(name) == content
