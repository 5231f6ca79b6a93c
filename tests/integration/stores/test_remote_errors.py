"""Quarantined segments in Google Cloud Storage, with a real server and a failing connection."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.metrics import AgentMetrics
from agent.quarantine.entries import list_entries, request_retry
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from agent.transfer.quarantine_sync import QuarantineSync, QuarantineSyncSettings, SegmentsDue, due
from agent.transfer.registry import RemoteTransfer
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.metrics import DeliveryMetrics
from sidecar.store.base import RemoteDirectory, StoreSettings
from sidecar.store.gcs import GcsStore
from sidecar.store.subprocess_store import SubprocessStore
from tests.integration.stores.harness import LocalStore, QuickGcsStore
from tests.support.servers.fault_proxy import Fault, FaultProxy, Seen
from tests.support.servers.gcs import GcsServer
from tests.support.servers.processes import DEADLINE_S, wait_until

pytestmark = pytest.mark.servers

PREFIX = "cdc/node-1/error"
IDX = b"9\nCOMPLETED"
REMOTE, RETRY = ".remote", ".retry"
ONE, TWO, THREE = (SegmentName(number, 7) for number in (1, 2, 3))


def content_of(name: SegmentName) -> bytes:
    return f"segment {name}".encode()


class QuarantineHarness:
    """A quarantine, a bucket behind a proxy, and the synchronising thread."""

    def __init__(self, folder: Path, server: GcsServer, proxy: FaultProxy, bucket: str) -> None:
        self.raw = folder / "cdc_raw"
        self.raw.mkdir()
        self.quarantine = Quarantine(folder / "error", 100_000, "1.2.3")
        self.directory = self.quarantine.directory
        self.server = server
        self.proxy = proxy
        self.bucket = bucket
        self.errors: QuarantineSync | None = None

    @property
    def where(self) -> str:
        return f"gs://{self.bucket}/{PREFIX}"

    def quarantine_one(self, name: SegmentName = ONE) -> None:
        """Like the pipeline: the reason, then both files."""
        (self.raw / name.log).write_bytes(content_of(name))
        (self.raw / name.idx).write_bytes(IDX)
        self.quarantine.record_ranges(name, [LostRange(1, 2, "no table with this id is known")])
        assert self.quarantine.add_segment(name, self.raw / name.log, self.raw / name.idx)

    def start(
        self,
        *,
        fetches_all: bool = False,
        key_file: Path | None = None,
        opened: Callable[[], None] = lambda: None,
        in_worker: bool = False,
    ) -> SubprocessStore:
        directory = RemoteDirectory(self.bucket, PREFIX)
        gcs = QuickGcsStore(directory, StoreSettings(key_file, timeout_s=DEADLINE_S))
        store = SubprocessStore(gcs) if in_worker else LocalStore(gcs)
        opened()
        settings = QuarantineSyncSettings(
            self.directory, self.raw, fetches_all, 0.01, first_pause_s=0.01, longest_pause_s=0.05
        )
        metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
        self.errors = QuarantineSync(store, settings, metrics)
        self.errors.open()
        return store

    def send_one(self) -> None:
        """Quarantine segment 1, start, and wait for the upload."""
        self.quarantine_one()
        self.start()
        self.wait_until_sent()

    def end(self) -> None:
        if self.errors is not None:
            self.errors.close(DEADLINE_S)

    def stored(self) -> set[str]:
        return {name.removeprefix(f"{PREFIX}/") for name in self.server.names(self.bucket)}

    def put(self, name: str, content: bytes) -> None:
        self.server.put(self.bucket, f"{PREFIX}/{name}", content)

    def mark(self, name: SegmentName, *suffixes: str, where: str = "") -> None:
        """Leave files beside a segment that the store has, or is assumed to have."""
        self.directory.mkdir(exist_ok=True)
        for suffix in suffixes:
            (self.directory / f"{name.log}{suffix}").write_text(f"{where or self.where}\n")

    def files(self) -> set[str]:
        return {file.name for file in self.directory.iterdir() if not file.name.startswith(".")}

    def wait_until_sent(self, name: SegmentName = ONE) -> None:
        wait_until(
            lambda: f"{name.log}{REMOTE}" in self.files() and name.log not in self.files(),
            "the segment to be sent",
        )

    def wait_until_back(self, name: SegmentName = ONE) -> None:
        wait_until(lambda: name in self.quarantine.retry_requests(), "the segment to be back")

    def fetch(self, *names: SegmentName) -> None:
        """Request segments, the first of which returns."""
        request_retry(self.directory, names)
        self.wait_until_back(names[0])

    def assert_requeued(self, name: SegmentName = ONE) -> None:
        """The agent reads the segment again, with its original content."""
        assert self.quarantine.requeue(name, self.raw)
        assert (self.raw / name.log).read_bytes() == content_of(name)

    @property
    def error(self) -> str:
        assert self.errors is not None
        return self.errors.error

    def wait_for_error(self, part: str) -> None:
        wait_until(lambda: part in self.error, f"{part!r} to be reported")
        assert "\n" not in self.error


@pytest.fixture
def harness(
    tmp_path: Path, gcs_server: GcsServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[QuarantineHarness]:
    monkeypatch.setattr(QuickGcsStore, "REPEATS_S", 0.2)
    gcs_server.create_bucket(bucket)
    with FaultProxy(gcs_server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        harness = QuarantineHarness(tmp_path, gcs_server, proxy, bucket)
        yield harness
        proxy.plan = None
        harness.end()


def test_quarantined_segment_survives_upload_and_download(harness: QuarantineHarness) -> None:
    harness.send_one()
    wait_until(lambda: ONE.idx not in harness.files(), "the index to be gone")
    assert harness.stored() == {ONE.log, ONE.idx}
    assert harness.files() == {f"{ONE.log}.reason.json", f"{ONE.log}{REMOTE}"}
    (seen,) = list_entries(harness.directory)
    assert (seen.size_bytes, seen.remote, len(seen.causes)) == (None, harness.where, 1)
    harness.fetch(ONE)
    assert harness.stored() == set()
    harness.assert_requeued()
    assert (harness.raw / ONE.idx).read_bytes() == IDX
    assert harness.files() == set()


def test_retry_request_survives_the_upload_of_its_segment(harness: QuarantineHarness) -> None:
    harness.send_one()
    harness.end()
    request_retry(harness.directory, [ONE])
    assert not harness.quarantine.requeue(ONE, harness.raw)
    assert harness.files() == {f"{ONE.log}{each}" for each in (".reason.json", REMOTE, RETRY)}


def test_requested_segments_return_one_at_a_time(harness: QuarantineHarness) -> None:
    """The requested segments may exceed the space in cdc_raw."""
    harness.quarantine_one(TWO)
    harness.send_one()
    harness.wait_until_sent(TWO)
    harness.fetch(ONE, TWO)
    harness.assert_requeued()
    assert harness.quarantine.retry_requests() == {}
    assert f"{TWO.log}{REMOTE}" in harness.files()
    (harness.raw / ONE.log).unlink()
    harness.wait_until_back(TWO)


def test_new_disk_requests_all_stored_segments(harness: QuarantineHarness) -> None:
    for name in (ONE, TWO):
        harness.put(name.log, content_of(name))
    harness.put("notes.txt", b"of somebody")
    (harness.raw / TWO.log).write_bytes(b"is read at the moment")
    harness.start(fetches_all=True)
    harness.wait_until_back()
    assert (harness.directory / ONE.log).read_bytes() == content_of(ONE)
    assert harness.quarantine.retry_requests() == {ONE: True}
    assert harness.stored() == {TWO.log, "notes.txt"}


def test_foreign_object_keeps_the_segment_local(harness: QuarantineHarness) -> None:
    """Other segments are sent; after the removal of the foreign object, this segment follows."""
    harness.put(ONE.log, b"of somebody else")
    harness.quarantine_one()
    harness.quarantine_one(TWO)
    harness.start()
    harness.wait_until_sent(TWO)
    harness.wait_for_error(f"has a different {ONE.log}")
    assert ONE.log in harness.files()
    harness.server.delete(harness.bucket, f"{PREFIX}/{ONE.log}")
    harness.wait_until_sent()
    wait_until(lambda: not harness.error, "the end of the error")


def test_missing_key_keeps_the_quarantined_segment_local(
    harness: QuarantineHarness, tmp_path: Path
) -> None:
    harness.quarantine_one()
    key_file = tmp_path / "key.json"
    key_file.write_text('{"type": "service_account"}')
    harness.start(key_file=key_file, opened=key_file.unlink)
    harness.wait_for_error(f"storage.credential.key.file: {key_file} cannot be read: No such file")
    assert harness.files() == {ONE.log, ONE.idx, f"{ONE.log}.reason.json"}


@pytest.mark.parametrize(
    ("status", "message"),
    [(503, "Google Cloud Storage failed"), (403, "Google Cloud Storage denies")],
)
def test_quarantine_waits_for_an_unavailable_store(
    harness: QuarantineHarness, status: int, message: str
) -> None:
    harness.quarantine_one()
    harness.proxy.plan = lambda seen: Fault(status=status)
    harness.start()
    harness.wait_for_error(message)
    assert ONE.log in harness.files()
    harness.proxy.plan = None
    harness.wait_until_sent()
    harness.fetch(ONE)


def test_fetched_segment_stays_remote_without_delete_permission(
    harness: QuarantineHarness,
) -> None:
    harness.proxy.plan = lambda seen: Fault(status=403) if seen.method == "DELETE" else None
    harness.send_one()
    harness.fetch(ONE)
    assert ONE.log in harness.stored()
    # If quarantined again, the segment equals the stored one.
    harness.assert_requeued()
    harness.quarantine_one()
    harness.wait_until_sent()


def test_segments_are_sent_without_list_permission(
    harness: QuarantineHarness,
) -> None:
    harness.quarantine_one()
    harness.proxy.plan = lambda seen: (
        Fault(status=403) if seen.method == "GET" and "prefix=" in seen.path else None
    )
    harness.start(fetches_all=True)
    harness.wait_for_error("storage.objects.list")
    harness.wait_until_sent()


def is_download(seen: Seen) -> bool:
    return "alt=media" in seen.path


def test_corrupted_download_is_retried(harness: QuarantineHarness) -> None:
    harness.send_one()
    spoiled = Fault(rewrite=lambda answer: b"X" + answer[1:])
    harness.proxy.plan = lambda seen: spoiled if is_download(seen) else None
    request_retry(harness.directory, [ONE])
    harness.wait_for_error("the checksum of the fetched file differs")
    assert ONE.log not in harness.files()
    assert ONE.log in harness.stored()
    harness.proxy.plan = None
    harness.wait_until_back()
    harness.assert_requeued()


def test_segment_settled_during_upload_is_removed_remotely(harness: QuarantineHarness) -> None:
    harness.quarantine_one()
    log = harness.directory / ONE.log
    harness.proxy.plan = lambda seen: (
        Fault(before=lambda: log.unlink(missing_ok=True)) if seen.is_upload else None
    )
    harness.start()
    wait_until(
        lambda: any(seen.method == "DELETE" for seen in harness.proxy.seen), "it to be deleted"
    )
    wait_until(lambda: harness.stored() == set(), "both to be gone")
    assert f"{ONE.log}{REMOTE}" not in harness.files()


@pytest.mark.parametrize(
    ("here", "there", "suffixes", "is_back"),
    [
        pytest.param(True, True, [], False, id="after the upload"),
        pytest.param(True, True, [REMOTE], False, id="after the mark"),
        pytest.param(True, True, [REMOTE, RETRY], True, id="after the download"),
        pytest.param(True, False, [REMOTE, RETRY], True, id="after the deletion there"),
        pytest.param(False, True, [REMOTE, RETRY], True, id="before the download"),
    ],
)
def test_quarantine_transfer_resumes_after_a_kill(
    harness: QuarantineHarness, here: bool, there: bool, suffixes: list[str], is_back: bool
) -> None:
    harness.quarantine_one()
    harness.mark(ONE, *suffixes)
    if there:
        harness.put(ONE.log, content_of(ONE))
        harness.put(ONE.idx, IDX)
    if not here:
        (harness.directory / ONE.log).unlink()
        (harness.directory / f".{ONE.log}.tmp").write_bytes(b"half of a download")
    harness.start()
    if is_back:
        harness.wait_until_back()
        assert harness.stored() == set()
        harness.assert_requeued()
    else:
        harness.wait_until_sent()
        assert harness.stored() == {ONE.log, ONE.idx}


def test_idle_upload_process_ends(harness: QuarantineHarness) -> None:
    harness.quarantine_one()
    store = harness.start(in_worker=True)
    harness.wait_until_sent()
    wait_until(lambda: store.pid is None, "the end of the process")
    harness.fetch(ONE)


def test_missing_bucket_keeps_the_retry_request(harness: QuarantineHarness) -> None:
    """The retry request remains pending."""
    harness.bucket += "-x"
    harness.mark(ONE, REMOTE, RETRY)
    harness.start()
    harness.wait_for_error(f"The bucket gs://{harness.bucket} does not exist")
    assert harness.files() == {f"{ONE.log}{REMOTE}", f"{ONE.log}{RETRY}"}
    harness.server.create_bucket(harness.bucket)
    harness.put(ONE.log, content_of(ONE))
    harness.wait_until_back()


def test_retry_request_for_a_missing_segment_is_dropped(harness: QuarantineHarness) -> None:
    harness.mark(ONE, REMOTE, RETRY)
    harness.start()
    wait_until(lambda: harness.files() == {f"{ONE.log}{REMOTE}"}, "the request to be given up")
    assert due(harness.files()) == SegmentsDue()
    assert harness.error == ""


def test_segment_in_another_store_is_not_fetched(harness: QuarantineHarness) -> None:
    """The configured place has changed since the upload; other segments return."""
    harness.mark(ONE, REMOTE, where="gs://before/cdc/error")
    harness.mark(TWO, REMOTE)
    for name in (ONE, TWO):
        harness.put(name.log, content_of(name))
    request_retry(harness.directory, [ONE, TWO])
    harness.start()
    harness.wait_until_back(TWO)
    harness.assert_requeued(TWO)
    (harness.raw / TWO.log).unlink()
    harness.wait_for_error(f"{ONE} is in gs://before/cdc/error and cannot be fetched from")
    assert harness.files() == {f"{ONE.log}{REMOTE}", f"{ONE.log}{RETRY}"}
    assert harness.stored() == {ONE.log}


def test_unreadable_quarantined_file_blocks_only_its_segment(harness: QuarantineHarness) -> None:
    harness.quarantine_one()
    harness.quarantine_one(TWO)
    (harness.directory / ONE.log).unlink()
    (harness.directory / ONE.log).mkdir()
    harness.start()
    harness.wait_until_sent(TWO)
    harness.wait_for_error(f"{ONE} cannot be sent: Is a directory.")
    assert ONE.log in harness.files()


def test_segment_requested_during_marking_stays_local(
    harness: QuarantineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.quarantine_one()
    mark = QuarantineSync.mark_remote

    def asked_for_before(errors: QuarantineSync, each: SegmentName) -> None:
        request_retry(harness.directory, [each])
        mark(errors, each)

    monkeypatch.setattr(QuarantineSync, "mark_remote", asked_for_before)
    harness.start()
    harness.wait_until_back()
    wait_until(lambda: harness.stored() == set(), "both to be gone there")
    assert not any(map(is_download, harness.proxy.seen))


def test_partial_downloads_are_removed(
    harness: QuarantineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.quarantine_one()
    left = [f".{ONE.log}.tmp", f".{ONE.idx}.tmp", f".{ONE.log}.reason.json.tmp"]
    for file_name in left:
        (harness.directory / file_name).touch()
    harness.start()
    found = {file.name for file in harness.directory.iterdir()}
    assert not found & set(left[:2]), "of a kill"
    harness.wait_until_sent()

    def full(file: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sidecar.store.object_store.sync_file", full)
    store = GcsStore(RemoteDirectory(harness.bucket, PREFIX), StoreSettings())
    with pytest.raises(OSError, match="No space left"):
        store.get(ONE.log, harness.raw / ONE.log)
    assert list(harness.raw.iterdir()) == []


def test_uploads_stop_before_the_quarantine_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
    store = LocalStore(GcsStore(RemoteDirectory("b", ""), StoreSettings()))
    uploads = UploadQueue(store, UploadSettings(tmp_path / "upload", 1), metrics)
    errors = QuarantineSync(store, QuarantineSyncSettings(tmp_path / "error", tmp_path), metrics)
    seen: list[bool] = []
    monkeypatch.setattr(errors, "close", lambda deadline_s: seen.append(uploads.is_stopping))
    RemoteTransfer(uploads, errors).close(0)
    assert seen == [True]


FILES = st.sets(
    st.builds(
        lambda name, suffix: name.log + suffix,
        st.sampled_from((ONE, TWO, THREE)),
        st.sampled_from(("", REMOTE, RETRY, ".reason.json", ".events.ndjson")),
    )
    | st.sampled_from((ONE.idx, "notes.txt", ".CommitLog-7-1.log.tmp"))
)


@given(FILES)
def test_requested_segments_are_never_sent(files: set[str]) -> None:
    found = due(files)
    assert not set(found.send) & set(found.fetch)
    assert all(name.log in files for name in found.send)
    assert all(f"{name.log}{REMOTE}" in files for name in found.fetch)
    # A segment that is neither sent nor fetched is requeued or not local.
    for name in (ONE, TWO, THREE):
        is_asked_for = f"{name.log}{RETRY}" in files
        assert (name in found.send) == (name.log in files and not is_asked_for)
