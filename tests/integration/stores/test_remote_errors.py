"""Quarantined segments in Google Cloud Storage and back, by a real server and a way that fails."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.metrics import AgentMetrics
from agent.quarantine.entries import list_entries, request_retry
from agent.quarantine.quarantine import Quarantine
from agent.quarantine.reason import LostRange
from agent.transfer.quarantine_sync import QuarantineSync, QuarantineSyncSettings, SegmentsDue, due
from agent.transfer.remote import RemoteTransfer
from agent.transfer.upload_queue import UploadQueue, UploadSettings
from sidecar.metrics import DeliveryMetrics
from sidecar.store.gcs import GcsSettings, GcsStore
from sidecar.store.remote_directory import RemoteDirectory
from sidecar.store.subprocess_store import SubprocessStore
from tests.support.servers.fault_proxy import Fault, FaultProxy
from tests.support.servers.gcs import GcsServer
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

PREFIX = "cdc/node-1/error"


def segment(number: int) -> SegmentName:
    return SegmentName(number, 7)


class QuarantineHarness:
    """A quarantine, a bucket with a way to it, and the thread between them."""

    def __init__(self, folder: Path, server: GcsServer, proxy: FaultProxy, bucket: str) -> None:
        self.raw = folder / "cdc_raw"
        self.raw.mkdir()
        self.quarantine = Quarantine(folder / "error", 100_000, "1.2.3")
        self.server = server
        self.proxy = proxy
        self.bucket = bucket
        self.where = f"gs://{bucket}/{PREFIX}"
        self.errors: QuarantineSync | None = None
        self.store: SubprocessStore | None = None

    @property
    def directory(self) -> Path:
        return self.quarantine.directory

    def quarantine_one(self, number: int) -> SegmentName:
        """As the pipeline does: the reason, then both files."""
        name = segment(number)
        (self.raw / name.log).write_bytes(b"segment %d" % number)
        (self.raw / name.idx).write_bytes(b"9\nCOMPLETED")
        self.quarantine.record_ranges(name, [LostRange(1, 2, "no table with this id is known")])
        assert self.quarantine.add_segment(name, self.raw / name.log, self.raw / name.idx)
        return name

    def start(
        self,
        *,
        fetches_all: bool = False,
        key_file: Path | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        gcs = GcsStore(GcsSettings(RemoteDirectory(self.bucket, PREFIX), key_file, timeout_s=1))
        self.store = SubprocessStore(gcs)
        opened()
        settings = QuarantineSyncSettings(
            self.directory, self.raw, fetches_all, 0.01, first_pause_s=0.01, longest_pause_s=0.05
        )
        metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
        self.errors = QuarantineSync(self.store, settings, metrics)
        self.errors.open()

    def end(self) -> None:
        if self.errors is not None:
            self.errors.close(60)

    def stored(self) -> set[str]:
        return {name.removeprefix(f"{PREFIX}/") for name in self.server.names(self.bucket)}

    def put(self, name: str, content: bytes) -> None:
        self.server.put(self.bucket, f"{PREFIX}/{name}", content)

    def files(self) -> set[str]:
        return {file.name for file in self.directory.iterdir() if not file.name.startswith(".")}

    def wait_until_sent(self, name: SegmentName) -> None:
        wait_until(
            lambda: f"{name.log}.remote" in self.files() and name.log not in self.files(),
            "the segment to be sent",
        )

    def wait_until_back(self, name: SegmentName) -> None:
        wait_until(lambda: name in self.quarantine.retry_requests(), "the segment to be back")

    def trouble(self) -> str:
        assert self.errors is not None
        return self.errors.error

    def wait_for_trouble(self, part: str) -> None:
        wait_until(lambda: part in self.trouble(), f"{part!r} to be said")
        assert "\n" not in self.trouble()


@pytest.fixture
def harness(
    tmp_path: Path, gcs_server: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[QuarantineHarness]:
    bucket = f"errors-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")
    gcs_server.create_bucket(bucket)
    with FaultProxy(gcs_server.port) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        harness = QuarantineHarness(tmp_path, gcs_server, proxy, bucket)
        yield harness
        proxy.plan = None
        harness.end()


def test_a_quarantined_segment_goes_and_its_reason_stays(harness: QuarantineHarness) -> None:
    name = harness.quarantine_one(1)
    harness.start()
    harness.wait_until_sent(name)
    wait_until(lambda: name.idx not in harness.files(), "the index to be gone")
    assert harness.stored() == {name.log, name.idx}
    assert harness.files() == {f"{name.log}.reason.json", f"{name.log}.remote"}
    (seen,) = list_entries(harness.directory)
    assert (seen.size_bytes, seen.remote, len(seen.causes)) == (None, harness.where, 1)


def test_requested_segment_returns_and_leaves_the_store(harness: QuarantineHarness) -> None:
    name = harness.quarantine_one(1)
    harness.start()
    harness.wait_until_sent(name)
    request_retry(harness.directory, [name])
    harness.wait_until_back(name)
    assert harness.stored() == set()
    assert harness.quarantine.requeue(name, harness.raw)
    assert (harness.raw / name.log).read_bytes() == b"segment 1"
    assert (harness.raw / name.idx).read_bytes() == b"9\nCOMPLETED"
    assert harness.files() == set()


def test_one_comes_back_at_a_time(harness: QuarantineHarness) -> None:
    """What is asked for may be more than cdc_raw has room for."""
    names = [harness.quarantine_one(number) for number in (1, 2)]
    harness.start()
    for name in names:
        harness.wait_until_sent(name)
    request_retry(harness.directory, names)
    harness.wait_until_back(names[0])
    harness.quarantine.requeue(names[0], harness.raw)
    assert harness.quarantine.retry_requests() == {}
    assert f"{names[1].log}.remote" in harness.files()
    (harness.raw / names[0].log).unlink()
    harness.wait_until_back(names[1])


def test_everything_that_another_disk_sent_is_asked_for(harness: QuarantineHarness) -> None:
    for number in (1, 2):
        harness.put(segment(number).log, b"segment %d" % number)
    harness.put("notes.txt", b"of somebody")
    here = harness.raw / segment(2).log
    here.write_bytes(b"is read at the moment")
    harness.start(fetches_all=True)
    harness.wait_until_back(segment(1))
    assert (harness.directory / segment(1).log).read_bytes() == b"segment 1"
    assert harness.quarantine.retry_requests() == {segment(1): True}
    assert harness.stored() == {segment(2).log, "notes.txt"}


def test_foreign_object_keeps_the_segment_local(harness: QuarantineHarness) -> None:
    """Others go on; when the stranger is gone, ours follows."""
    harness.put(segment(1).log, b"of somebody else")
    first, second = harness.quarantine_one(1), harness.quarantine_one(2)
    harness.start()
    harness.wait_until_sent(second)
    harness.wait_for_trouble(f"has a different {first.log}")
    assert first.log in harness.files()
    harness.server.delete(harness.bucket, f"{PREFIX}/{first.log}")
    harness.wait_until_sent(first)
    wait_until(lambda: not harness.trouble(), "the end of the trouble")


def test_a_key_that_goes_away_keeps_the_segment_here(
    harness: QuarantineHarness, tmp_path: Path
) -> None:
    name = harness.quarantine_one(1)
    key_file = tmp_path / "key.json"
    key_file.write_text('{"type": "service_account"}')
    harness.start(key_file=key_file, opened=key_file.unlink)
    harness.wait_for_trouble(
        f"storage.credential.key.file: {key_file} cannot be read: No such file"
    )
    assert harness.files() == {name.log, name.idx, f"{name.log}.reason.json"}


@pytest.mark.parametrize(
    ("status", "message"),
    [(503, "Google Cloud Storage failed"), (403, "Google Cloud Storage denies")],
)
def test_a_store_that_does_not_answer_is_waited_for(
    harness: QuarantineHarness, status: int, message: str
) -> None:
    name = harness.quarantine_one(1)
    harness.proxy.plan = lambda seen: Fault(status=status)
    harness.start()
    harness.wait_for_trouble(message)
    assert name.log in harness.files()
    harness.proxy.plan = None
    harness.wait_until_sent(name)
    request_retry(harness.directory, [name])
    harness.wait_until_back(name)


def test_without_the_right_to_delete_it_is_read_and_stays_there_too(
    harness: QuarantineHarness,
) -> None:
    name = harness.quarantine_one(1)
    harness.proxy.plan = lambda seen: Fault(status=403) if seen.method == "DELETE" else None
    harness.start()
    harness.wait_until_sent(name)
    request_retry(harness.directory, [name])
    harness.wait_until_back(name)
    assert name.log in harness.stored()
    # QuarantineEntry again it is what the store has already.
    harness.quarantine.requeue(name, harness.raw)
    harness.quarantine_one(1)
    harness.wait_until_sent(name)


def test_without_the_right_to_list_segments_are_sent_nevertheless(
    harness: QuarantineHarness,
) -> None:
    name = harness.quarantine_one(1)
    harness.proxy.plan = lambda seen: (
        Fault(status=403) if seen.method == "GET" and "prefix=" in seen.path else None
    )
    harness.start(fetches_all=True)
    harness.wait_for_trouble("storage.objects.list")
    harness.wait_until_sent(name)


def test_changed_file_is_fetched_again(harness: QuarantineHarness) -> None:
    name = harness.quarantine_one(1)
    harness.start()
    harness.wait_until_sent(name)
    harness.proxy.plan = lambda seen: (
        Fault(rewrite=lambda answer: b"X" + answer[1:]) if "alt=media" in seen.path else None
    )
    request_retry(harness.directory, [name])
    harness.wait_for_trouble("another checksum")
    assert name.log not in harness.files()
    assert name.log in harness.stored()
    harness.proxy.plan = None
    harness.wait_until_back(name)
    assert (harness.directory / name.log).read_bytes() == b"segment 1"


def test_batch_settled_while_sent_does_not_remain(harness: QuarantineHarness) -> None:
    name = harness.quarantine_one(1)
    log = harness.directory / name.log
    harness.proxy.plan = lambda seen: (
        Fault(before=lambda: log.unlink(missing_ok=True)) if seen.is_upload else None
    )
    harness.start()
    wait_until(
        lambda: any(seen.method == "DELETE" for seen in harness.proxy.seen), "it to be deleted"
    )
    wait_until(lambda: harness.stored() == set(), "both to be gone")
    assert f"{name.log}.remote" not in harness.files()


@pytest.mark.parametrize(
    ("here", "there", "suffixes", "is_back"),
    [
        (True, True, [], False),  # killed behind the upload
        (True, True, [".remote"], False),  # killed behind the mark
        (True, True, [".remote", ".retry"], True),  # killed behind the download
        (True, False, [".remote", ".retry"], True),  # killed behind the deletion there
        (False, True, [".remote", ".retry"], True),  # killed before the download
    ],
)
def test_a_kill_anywhere_leaves_it_to_be_done_again(
    harness: QuarantineHarness, here: bool, there: bool, suffixes: list[str], is_back: bool
) -> None:
    name = harness.quarantine_one(1)
    for suffix in suffixes:
        (harness.directory / f"{name.log}{suffix}").write_text(f"{harness.where}\n")
    if there:
        harness.put(name.log, b"segment 1")
        harness.put(name.idx, b"9\nCOMPLETED")
    if not here:
        (harness.directory / name.log).unlink()
        (harness.directory / f".{name.log}.tmp").write_bytes(b"half of a download")
    harness.start()
    if is_back:
        harness.wait_until_back(name)
        assert harness.stored() == set()
        assert harness.quarantine.requeue(name, harness.raw)
        assert (harness.raw / name.log).read_bytes() == b"segment 1"
    else:
        harness.wait_until_sent(name)
        assert harness.stored() == {name.log, name.idx}


def test_the_process_that_sends_ends_when_nothing_is_left_to_do(harness: QuarantineHarness) -> None:
    name = harness.quarantine_one(1)
    harness.start()
    harness.wait_until_sent(name)
    store = harness.store
    assert store is not None
    wait_until(lambda: store.pid is None, "the end of the process")
    request_retry(harness.directory, [name])
    harness.wait_until_back(name)


def test_a_bucket_that_is_not_there_is_no_segment_that_is_not(harness: QuarantineHarness) -> None:
    """What is asked for stays asked for."""
    there, harness.bucket = harness.bucket, f"{harness.bucket}-x"
    harness.where = f"gs://{harness.bucket}/{PREFIX}"
    name = segment(1)
    harness.directory.mkdir()
    for suffix in (".remote", ".retry"):
        (harness.directory / f"{name.log}{suffix}").write_text(f"{harness.where}\n")
    harness.start()
    harness.wait_for_trouble(f"The bucket gs://{there}-x does not exist")
    assert harness.files() == {f"{name.log}.remote", f"{name.log}.retry"}
    harness.server.create_bucket(harness.bucket)
    harness.put(name.log, b"segment 1")
    harness.wait_until_back(name)


def test_request_for_a_missing_segment_ends(harness: QuarantineHarness) -> None:
    name = segment(1)
    harness.directory.mkdir()
    for suffix in (".remote", ".retry"):
        (harness.directory / f"{name.log}{suffix}").write_text(f"{harness.where}\n")
    harness.start()
    wait_until(lambda: harness.files() == {f"{name.log}.remote"}, "the request to be given up")
    assert due(harness.files()) == SegmentsDue()
    assert harness.trouble() == ""


def test_a_segment_in_another_store_is_looked_for_there_alone(harness: QuarantineHarness) -> None:
    """The configuration names another place since it was sent; others come back."""
    name, other = segment(1), segment(2)
    harness.directory.mkdir()
    for each, where in ((name, "gs://before/cdc/error"), (other, harness.where)):
        (harness.directory / f"{each.log}.remote").write_text(f"{where}\n")
        harness.put(each.log, b"segment")
    request_retry(harness.directory, [name, other])
    harness.start()
    harness.wait_until_back(other)
    assert harness.quarantine.requeue(other, harness.raw)
    (harness.raw / other.log).unlink()
    harness.wait_for_trouble(f"{name} is in gs://before/cdc/error and cannot be fetched from")
    assert harness.files() == {f"{name.log}.remote", f"{name.log}.retry"}
    assert harness.stored() == {name.log}


def test_a_file_that_cannot_be_read_keeps_its_segment_alone(harness: QuarantineHarness) -> None:
    name, other = harness.quarantine_one(1), harness.quarantine_one(2)
    (harness.directory / name.log).unlink()
    (harness.directory / name.log).mkdir()
    harness.start()
    harness.wait_until_sent(other)
    harness.wait_for_trouble(f"{name} cannot be sent: Is a directory.")
    assert name.log in harness.files()


def test_segment_requested_while_marked_stays_local(
    harness: QuarantineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = harness.quarantine_one(1)
    mark = QuarantineSync.mark_remote

    def asked_for_before(errors: QuarantineSync, each: SegmentName) -> None:
        request_retry(harness.directory, [each])
        mark(errors, each)

    monkeypatch.setattr(QuarantineSync, "mark_remote", asked_for_before)
    harness.start()
    harness.wait_until_back(name)
    wait_until(lambda: harness.stored() == set(), "both to be gone there")
    assert not any("alt=media" in seen.path for seen in harness.proxy.seen)


def test_a_request_outlives_that_the_segment_goes_to_the_store(harness: QuarantineHarness) -> None:
    name = harness.quarantine_one(1)
    harness.start()
    harness.wait_until_sent(name)
    harness.end()
    request_retry(harness.directory, [name])
    assert not harness.quarantine.requeue(name, harness.raw)
    assert harness.files() == {
        f"{name.log}{each}" for each in (".reason.json", ".remote", ".retry")
    }


def test_nothing_half_fetched_is_left(
    harness: QuarantineHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = harness.quarantine_one(1)
    left = [f".{name.log}.tmp", f".{name.idx}.tmp", f".{name.log}.reason.json.tmp"]
    for file_name in left:
        (harness.directory / file_name).touch()
    harness.start()
    found = {file.name for file in harness.directory.iterdir()}
    assert not found & set(left[:2]), "of a kill"
    harness.wait_until_sent(name)

    def full(file: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sidecar.store.gcs.sync_file", full)
    store = GcsStore(GcsSettings(RemoteDirectory(harness.bucket, PREFIX), timeout_s=1))
    target = harness.raw / name.log
    with pytest.raises(OSError, match="No space left"):
        store.get(name.log, target)
    assert list(harness.raw.iterdir()) == []


def test_nothing_is_sent_while_the_quarantine_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
    store = SubprocessStore(GcsStore(GcsSettings(RemoteDirectory("b", ""))))
    uploads = UploadQueue(store, UploadSettings(tmp_path / "upload", 1), metrics)
    errors = QuarantineSync(store, QuarantineSyncSettings(tmp_path / "error", tmp_path), metrics)
    seen: list[bool] = []
    monkeypatch.setattr(errors, "close", lambda deadline_s: seen.append(uploads.is_stopping))
    RemoteTransfer(uploads, errors).close(0)
    assert seen == [True]


FILES = st.sets(
    st.builds(
        lambda number, suffix: segment(number).log + suffix,
        st.integers(1, 3),
        st.sampled_from(("", ".remote", ".retry", ".reason.json", ".events.ndjson")),
    )
    | st.sampled_from((segment(1).idx, "notes.txt", ".CommitLog-7-1.log.tmp"))
)


@given(FILES)
def test_nothing_is_sent_that_is_asked_for(files: set[str]) -> None:
    found = due(files)
    assert not set(found.send) & set(found.fetch)
    assert all(name.log in files for name in found.send)
    assert all(f"{name.log}.remote" in files for name in found.fetch)
    # What is neither sent nor fetched is put back, or not here at all.
    for name in (segment(number) for number in (1, 2, 3)):
        is_asked_for = f"{name.log}.retry" in files
        assert (name in found.send) == (name.log in files and not is_asked_for)
