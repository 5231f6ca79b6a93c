"""Finished segments, a bucket of any kind of store, and a failing connection to it."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.metrics import AgentMetrics
from agent.transfer.transfer import Backlog
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.metrics import DeliveryMetrics
from sidecar.store.base import RemoteDirectory, S3Options, Store, StoreSettings, StoreStoppedError
from sidecar.store.gcs import GcsStore
from sidecar.store.s3 import S3Store
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.servers.fault_proxy import Fault, FaultProxy, Plan, Seen
from tests.support.servers.gcs import GcsServer
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.servers.s3 import S3Server

MIB = 1 << 20
CHUNK = 4 * MIB
# Three chunks of GCS, three parts of S3.
LARGE = random.Random(1).randbytes(11 * MIB)
SMALL = b"a small segment"
FIRST = "cdc/node-1/archive/CommitLog-7-1.log"
"""The object of segment 1."""


class LocalStore(SubprocessStore):
    """Store without its worker process, whose start takes longer than most tests."""

    def ask(self, method: str, *arguments: object) -> Any:
        if self._is_stopped:
            raise StoreStoppedError
        return getattr(self._store, method)(*arguments)


class QuickGcsStore(GcsStore):
    """Retries a failed request at once, for `REPEATS_S`, regardless of the response timeout."""

    REPEATS_S = 5.0

    def _request_options(self) -> dict[str, Any]:
        options = super()._request_options()
        retry = options["retry"].with_delay(0.01, 0.05).with_timeout(self.REPEATS_S)
        return options | {"retry": retry}


@dataclass(frozen=True)
class RemoteKind:
    """Kind of store, and how to recognise its requests."""

    scheme: str
    server: GcsServer | S3Server
    create: Callable[..., Store]
    """Creates the store of a directory behind a URL, with further options."""
    is_second_part: Callable[[Seen], bool]
    """Second of the three requests with the content of a large object."""
    looks_with: str
    """Method of the only request for an object that exists."""
    unfinished: Callable[[str], list[str]]
    """Uploads in a bucket that are neither completed nor aborted, if the server lists them."""


def is_second_chunk(seen: Seen) -> bool:
    """Second chunk of a resumable upload to GCS."""
    return seen.content_range.startswith(f"bytes {CHUNK}-")


def is_second_part(seen: Seen) -> bool:
    """Second part of a multipart upload to S3."""
    return seen.method == "PUT" and "partNumber=2" in seen.path


def completes(seen: Seen) -> bool:
    """Last request of a multipart upload to S3."""
    return seen.method == "POST" and "uploadId=" in seen.path


def small_put(seen: Seen) -> bool:
    """Segment that S3 receives in one request."""
    return seen.method == "PUT" and seen.path.endswith(".log")


def gcs_kind(server: GcsServer) -> RemoteKind:
    def create(directory: RemoteDirectory, url: str, key_file: Path | None = None) -> Store:
        # The client takes the URL from STORAGE_EMULATOR_HOST.
        return QuickGcsStore(directory, StoreSettings(key_file, CHUNK, DEADLINE_S))

    return RemoteKind("gs", server, create, is_second_chunk, "GET", lambda bucket: [])


def s3_kind(server: S3Server) -> RemoteKind:
    def create(directory: RemoteDirectory, url: str, **options: Any) -> Store:
        s3 = S3Options(endpoint=url, **options)
        return S3Store(directory, StoreSettings(timeout_s=DEADLINE_S, s3=s3))

    return RemoteKind("s3", server, create, is_second_part, "HEAD", server.unfinished_uploads)


class WatchedUploads(UploadQueue):
    """Records each error, because the next attempt may clear it at once."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.errors: list[str] = []

    @property
    def backlog(self) -> Backlog:
        shown = super().backlog
        if shown.error:
            self.errors.append(shown.error)
        return shown


class TransferHarness:
    """Directories, a bucket behind a proxy, and uploads that can be restarted."""

    def __init__(self, folder: Path, kind: RemoteKind, proxy: FaultProxy, bucket: str) -> None:
        self.raw = folder / "cdc_raw"
        self.raw.mkdir()
        self.upload = folder / "relocation" / "upload"
        self.kind = kind
        self.proxy = proxy
        self.bucket = bucket
        self.metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
        self.uploads: WatchedUploads | None = None
        self.store: SubprocessStore | None = None
        self.sent: dict[str, bytes] = {}
        """What the store is to have of the given segments: content by object."""

    def start(
        self, max_bytes: int = 100 * MIB, *, in_worker: bool = False, **options: Any
    ) -> WatchedUploads:
        directory = RemoteDirectory(self.bucket, "cdc/node-1/archive", self.kind.scheme)
        store = self.kind.create(directory, self.proxy.url, **options)
        self.store = SubprocessStore(store) if in_worker else LocalStore(store)
        settings = UploadSettings(self.upload, max_bytes, 0.01, 0.05)
        self.uploads = WatchedUploads(self.store, settings, self.metrics)
        self.uploads.open()
        return self.uploads

    def give(self, number: int, content: bytes) -> str:
        """Add a finished segment; returns the name of its object."""
        log = self.raw / f"CommitLog-7-{number}.log"
        log.write_bytes(content)
        idx = self.raw / f"CommitLog-7-{number}_cdc.idx"
        idx.write_text(f"{len(content)}\nCOMPLETED")
        assert self.uploads is not None
        self.uploads.transfer(log, idx)
        assert list(self.raw.glob(f"*-{number}*")) == []
        name = f"cdc/node-1/archive/{log.name}"
        self.sent |= {
            name: content,
            name.replace(".log", "_cdc.idx"): b"%d\nCOMPLETED" % len(content),
        }
        return name

    def wait_until_sent(self) -> None:
        """Wait until the queue is empty and the store has each segment completely."""
        # The metrics are updated last.
        wait_until(
            lambda: (
                self.backlog_segments == 0
                and self.figure("cdc_transfer_backlog_segments") == 0
                and self.figure("cdc_transfer_up") == 1
            ),
            "the last segment to be sent",
        )
        assert list(self.upload.iterdir()) == []
        assert self.uploads is not None
        assert self.uploads.backlog.error == ""
        assert self.kind.unfinished(self.bucket) == []
        assert {name: self.content(name) for name in self.sent} == self.sent

    def wait_for_error(self, part: str) -> str:
        uploads = self.uploads
        assert uploads is not None
        wait_until(
            lambda: any(part in error for error in uploads.errors),
            f"{part!r} to be reported",
            state=lambda: uploads.backlog,
        )
        message = next(error for error in uploads.errors if part in error)
        assert message.endswith(".")
        assert "\n" not in message
        assert os.environ.get("AWS_SECRET_ACCESS_KEY", "a secret") not in message
        return message

    def is_here(self, content: bytes) -> bool:
        """Whether segment 1 waits with this content."""
        return (self.upload / "CommitLog-7-1.log").read_bytes() == content

    @property
    def backlog_segments(self) -> int:
        assert self.uploads is not None
        return self.uploads.backlog.segments

    @property
    def worker_pid(self) -> int:
        assert self.store is not None and self.store.pid is not None
        return self.store.pid

    def put(self, name: str, content: bytes) -> None:
        """Add a foreign object."""
        self.kind.server.put(self.bucket, name, content)

    def names(self) -> list[str]:
        return self.kind.server.names(self.bucket)

    def content(self, name: str) -> bytes:
        return self.kind.server.content(self.bucket, name)

    def figure(self, name: str) -> float | None:
        return self.metrics.delivery.registry.get_sample_value(name)

    def close(self) -> None:
        """End the thread at its current step; the agent's own test covers real kills."""
        if self.uploads is not None:
            self.uploads.close(DEADLINE_S)


def once(fault: Fault, which: Callable[[Seen], bool]) -> Plan:
    """The fault for the first request of that kind."""
    left = [fault]
    return lambda seen: left.pop() if left and which(seen) else None
