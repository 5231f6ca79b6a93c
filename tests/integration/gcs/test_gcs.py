"""Finished segments sent to Google Cloud Storage, by a real server and a way to it that fails."""

import base64
import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from agent.metrics import AgentMetrics
from agent.transfer.base import TransferDeferredError
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.errors import ConfigError
from sidecar.metrics import DeliveryMetrics
from sidecar.store.gcs import GcsSettings, GcsStore
from sidecar.store.remote_directory import RemoteDirectory
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.servers.gcs import Fault, FaultProxy, GcsServer, Seen
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

MIB = 1 << 20
CHUNK = 4 * MIB
# Above the size from which the client uploads in chunks.
LARGE = random.Random(1).randbytes(9 * MIB)
SMALL = b"a small segment"


class TransferHarness:
    """Directories, a bucket with a way to it, and uploads that can be begun again."""

    def __init__(self, folder: Path, server: GcsServer, proxy: FaultProxy, bucket: str) -> None:
        self.raw = folder / "cdc_raw"
        self.raw.mkdir()
        self.upload = folder / "relocation" / "upload"
        self.server = server
        self.proxy = proxy
        self.bucket = bucket
        self.metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
        self.uploads: UploadQueue | None = None
        self.store: SubprocessStore | None = None
        self.sizes: dict[int, int] = {}
        """Bytes of both files of each segment."""

    def start(self, max_bytes: int = 100 * MIB, key_file: Path | None = None) -> UploadQueue:
        directory = RemoteDirectory(self.bucket, "cdc/node-1/archive")
        self.store = SubprocessStore(GcsStore(GcsSettings(directory, key_file, CHUNK, timeout_s=1)))
        settings = UploadSettings(self.upload, max_bytes, 0.01, 0.05)
        self.uploads = UploadQueue(self.store, settings, self.metrics)
        self.uploads.open()
        return self.uploads

    def give(self, number: int, content: bytes) -> str:
        """A finished segment; gives the name that its object gets."""
        log, idx = (
            self.raw / f"CommitLog-7-{number}.log",
            self.raw / f"CommitLog-7-{number}_cdc.idx",
        )
        log.write_bytes(content)
        idx_bytes = idx.write_text(f"{len(content)}\nCOMPLETED")
        assert self.uploads is not None
        self.uploads.transfer(log, idx)
        assert list(self.raw.glob(f"*-{number}*")) == []
        self.sizes[number] = len(content) + idx_bytes
        return f"cdc/node-1/archive/{log.name}"

    def wait_until_sent(self) -> None:
        assert self.uploads is not None
        # The metrics are what is told last.
        wait_until(
            lambda: (
                self.backlog_segments == 0
                and self.figure("cdc_transfer_backlog_segments") == 0
                and self.figure("cdc_transfer_up") == 1
            ),
            "the last segment to be sent",
        )
        assert list(self.upload.iterdir()) == []
        assert self.uploads.backlog.error == ""

    def wait_for_trouble(self, part: str) -> str:
        """The sentence in which it is said."""
        uploads = self.uploads
        assert uploads is not None
        wait_until(lambda: part in uploads.backlog.error, f"{part!r} to be said")
        sentence = uploads.backlog.error
        assert sentence.endswith(".")
        assert "\n" not in sentence
        return sentence

    @property
    def backlog_segments(self) -> int:
        assert self.uploads is not None
        return self.uploads.backlog.segments

    def content(self, name: str) -> bytes:
        return self.server.content(self.bucket, name)

    def figure(self, name: str) -> float | None:
        return self.metrics.delivery.registry.get_sample_value(name)

    def kill(self) -> None:
        """Ends the thread where it is; what a real kill does besides is in the agent's own test."""
        if self.uploads is not None:
            self.uploads.close(60)


@pytest.fixture
def harness(
    tmp_path: Path, server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TransferHarness]:
    bucket = f"bucket-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")
    server.create_bucket(bucket)
    with FaultProxy(server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        harness = TransferHarness(tmp_path, server, proxy, bucket)
        yield harness
        proxy.plan = None
        harness.kill()


def once(fault: Fault, which: Callable[[Seen], bool]) -> Callable[[Seen], Fault | None]:
    """The fault for the first request of that kind."""
    left = [fault]
    return lambda seen: left.pop() if left and which(seen) else None


def second_chunk(seen: Seen) -> bool:
    return seen.content_range.startswith(f"bytes {CHUNK}-")


def test_segments_are_sent_whole_and_then_gone_here(harness: TransferHarness) -> None:
    harness.start()
    names = {number: harness.give(number, LARGE[number:]) for number in (1, 2)}
    names[3] = harness.give(3, SMALL)
    harness.wait_until_sent()
    assert [harness.content(names[number]) for number in (1, 2, 3)] == [LARGE[1:], LARGE[2:], SMALL]
    idx = names[3].replace(".log", "_cdc.idx")
    assert harness.content(idx).decode() == f"{len(SMALL)}\nCOMPLETED"
    assert len(harness.server.names(harness.bucket)) == 6
    assert harness.figure("cdc_transferred_segments_total") == 3
    assert harness.figure("cdc_transferred_bytes_total") == sum(harness.sizes.values())
    assert harness.figure("cdc_transfer_backlog_segments") == 0
    assert harness.figure("cdc_transfer_up") == 1


@pytest.mark.parametrize("fault", [Fault(cut=True), Fault(status=503), Fault(status=429)])
def test_interrupted_upload_resumes(harness: TransferHarness, fault: Fault) -> None:
    harness.proxy.plan = once(fault, second_chunk)
    harness.start()
    name = harness.give(1, LARGE)
    harness.wait_until_sent()
    assert harness.content(name) == LARGE
    ranges = [seen.content_range.split("-")[0] for seen in harness.proxy.seen if seen.is_chunk]
    assert ranges == ["bytes 0", f"bytes {CHUNK}", f"bytes {CHUNK}", f"bytes {2 * CHUNK}"]


def test_a_lost_answer_never_leaves_something_else_there(harness: TransferHarness) -> None:
    """The server then has a chunk twice, which the checksum shows."""
    harness.proxy.plan = once(Fault(swallow=True), second_chunk)
    harness.start()
    name = harness.give(1, LARGE)
    harness.wait_until_sent()
    assert harness.content(name) == LARGE


def test_the_lost_answer_to_the_last_chunk_is_no_reason_to_send_it_again(
    harness: TransferHarness,
) -> None:
    harness.proxy.plan = once(
        Fault(swallow=True), lambda seen: seen.content_range.startswith(f"bytes {2 * CHUNK}-")
    )
    harness.start()
    name = harness.give(1, LARGE)
    harness.wait_until_sent()
    assert harness.content(name) == LARGE
    begun = [seen for seen in harness.proxy.seen if seen.is_upload and not seen.is_chunk]
    assert len(begun) == 2, "the segment and its index"


@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["large", "small"])
def test_a_checksum_that_does_not_agree_keeps_the_segment_here(
    harness: TransferHarness, content: bytes
) -> None:
    def lie(answer: bytes) -> bytes:
        document = json.loads(answer)
        if "crc32c" in document:
            document["crc32c"] = base64.b64encode(b"\0\0\0\1").decode()
        return json.dumps(document).encode()

    harness.proxy.plan = lambda seen: Fault(rewrite=lie) if seen.is_upload else None
    harness.start()
    name = harness.give(1, content)
    assert "differs from the sent file" in harness.wait_for_trouble("checksum")
    assert (harness.upload / "CommitLog-7-1.log").read_bytes() == content
    harness.proxy.plan = None
    harness.wait_until_sent()
    assert harness.content(name) == content


@pytest.mark.parametrize(
    ("status", "part"),
    [
        (401, "Google rejects the default credentials"),
        (403, "storage.objects.create"),
        (503, "failed for CommitLog-7-1.log"),
    ],
)
def test_error_answers_of_the_store_are_reported_and_retried(
    harness: TransferHarness, status: int, part: str
) -> None:
    harness.proxy.plan = lambda seen: Fault(status=status)
    harness.start()
    name = harness.give(1, SMALL)
    harness.wait_for_trouble(part)
    assert (harness.upload / "CommitLog-7-1.log").exists()
    wait_until(lambda: harness.figure("cdc_transfer_up") == 0, "the metric to say it too")
    harness.proxy.plan = None
    harness.wait_until_sent()
    assert harness.content(name) == SMALL


def test_a_bucket_that_is_not_there_is_named(harness: TransferHarness) -> None:
    there = harness.bucket
    harness.bucket = f"{there}-x"
    harness.start()
    harness.give(1, SMALL)
    assert f"gs://{there}-x" in harness.wait_for_trouble("does not exist")
    harness.server.create_bucket(harness.bucket)
    harness.wait_until_sent()


def test_foreign_object_is_never_overwritten(harness: TransferHarness) -> None:
    """Others go on; when the stranger is gone, ours follows."""
    name = "cdc/node-1/archive/CommitLog-7-1.log"
    harness.server.put(harness.bucket, name, b"of somebody else")
    harness.start()
    harness.give(1, SMALL)
    other = harness.give(2, SMALL)
    sentence = harness.wait_for_trouble("has a different CommitLog-7-1.log")
    assert "does not overwrite" in sentence
    wait_until(lambda: harness.backlog_segments == 1, "the other one to be sent")
    assert harness.content(name) == b"of somebody else"
    assert harness.content(other) == SMALL
    assert (harness.upload / "CommitLog-7-1.log").exists()


def test_a_segment_that_cannot_be_read_holds_up_no_other(harness: TransferHarness) -> None:
    unreadable = harness.upload / "CommitLog-7-1.log"
    unreadable.mkdir(parents=True)
    harness.start()
    name = harness.give(2, SMALL)
    harness.wait_for_trouble("CommitLog-7-1.log cannot be read: Is a directory.")
    wait_until(lambda: harness.backlog_segments == 1, "the other one to be sent")
    assert harness.content(name) == SMALL


def test_an_object_that_comes_there_during_the_upload_is_not_overwritten(
    harness: TransferHarness,
) -> None:
    name = "cdc/node-1/archive/CommitLog-7-1.log"
    harness.proxy.plan = once(
        Fault(before=lambda: harness.server.put(harness.bucket, name, b"faster")), second_chunk
    )
    harness.start()
    harness.give(1, LARGE)
    harness.wait_for_trouble("has a different CommitLog-7-1.log")
    assert harness.content(name) == b"faster"


def test_segments_sent_before_a_kill_are_not_sent_again(harness: TransferHarness) -> None:
    name = "cdc/node-1/archive/CommitLog-7-1.log"
    harness.server.put(harness.bucket, name, LARGE)
    harness.upload.mkdir(parents=True)
    (harness.upload / "CommitLog-7-1.log").write_bytes(LARGE)
    (harness.upload / ".CommitLog-7-2.log.tmp").write_bytes(b"half of a move")
    harness.start()
    harness.wait_until_sent()
    assert not any(seen.is_upload for seen in harness.proxy.seen)
    assert harness.figure("cdc_transferred_bytes_total") == 0


def test_a_stop_in_the_middle_of_an_upload_is_quick_and_the_next_start_sends_it(
    harness: TransferHarness,
) -> None:
    uploads = harness.start()
    harness.proxy.plan = once(Fault(before=lambda: uploads.close(60)), second_chunk)
    name = harness.give(1, LARGE)
    wait_until(lambda: not uploads.is_running, "the end of the thread")
    assert (harness.upload / "CommitLog-7-1.log").exists()
    assert name not in harness.server.names(harness.bucket)
    harness.start()
    harness.wait_until_sent()
    assert harness.content(name) == LARGE


def test_a_process_that_is_killed_is_started_again_and_the_segment_sent(
    harness: TransferHarness,
) -> None:
    """As the kernel does where memory is short, unless it ends all of a container."""
    uploads, killed = harness.start(), list[str]()

    def kill() -> None:
        assert harness.store is not None
        assert harness.store.pid is not None
        os.kill(harness.store.pid, signal.SIGKILL)
        killed.append(harness.wait_for_trouble("ended by SIGKILL; the agent restarts it"))

    harness.proxy.plan = once(Fault(before=kill), second_chunk)
    name = harness.give(1, LARGE)
    harness.wait_until_sent()
    assert len(killed) == 1
    assert harness.content(name) == LARGE
    assert uploads.backlog.error == ""


def test_a_full_backlog_keeps_segments_where_they_are(harness: TransferHarness) -> None:
    harness.proxy.plan = lambda seen: Fault(status=403)
    harness.start(max_bytes=MIB)
    harness.give(1, LARGE)
    assert harness.backlog_segments == 1, "one always has room"
    log = harness.raw / "CommitLog-7-2.log"
    log.write_bytes(SMALL)
    assert harness.uploads is not None
    with pytest.raises(
        TransferDeferredError, match=r"is full .* commit\.log\.transfer\.backlog\.max\.bytes"
    ):
        harness.uploads.transfer(log, log.with_name("CommitLog-7-2_cdc.idx"))
    assert log.exists()
    harness.proxy.plan = None
    harness.wait_until_sent()
    harness.uploads.transfer(log, log.with_name("CommitLog-7-2_cdc.idx"))
    harness.wait_until_sent()


def service_account(token_uri: str) -> dict[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "cdc@p.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }


def test_a_key_that_is_rejected_is_named(harness: TransferHarness, tmp_path: Path) -> None:
    """The tokens of the account come from where its key says."""
    file = tmp_path / "key.json"
    file.write_text(json.dumps(service_account(f"{harness.proxy.url}/token")))
    harness.proxy.plan = lambda seen: Fault(status=401) if seen.path == "/token" else None
    harness.start(key_file=file)
    harness.give(1, SMALL)
    assert str(file) in harness.wait_for_trouble("Google rejects the key")
    assert "/token" in {seen.path for seen in harness.proxy.seen}


def test_a_key_that_goes_away_is_named_and_outlived(
    harness: TransferHarness, tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    text = json.dumps(service_account(f"{harness.proxy.url}/token"))
    file.write_text(text)
    harness.start(key_file=file)
    file.unlink()
    harness.give(1, SMALL)
    assert str(file) in harness.wait_for_trouble("storage.credential.key.file")
    assert harness.backlog_segments == 1
    file.write_text(text)
    harness.wait_for_trouble("Google rejects the key")


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "cannot be read"), ("{", "is not valid JSON"), ('{"type": "x"}', "service account")],
)
def test_a_file_that_is_no_key_is_named_at_the_start(
    tmp_path: Path, content: str | None, part: str
) -> None:
    file = tmp_path / "key.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=part) as raised:
        GcsStore(GcsSettings(RemoteDirectory("b", ""), file))
    assert str(file) in str(raised.value)
