"""Links, pipes and hard links that another user plants under names that the agent uses.

The tests plant hard links in each directory of the agent, where the kernel allows them
(`fs.protected_hardlinks=0`): the agent removes only names, and the linked file keeps its
content.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cdc_raw.idx import Idx
from agent.cdc_raw.move import move
from agent.cdc_raw.names import SegmentName
from agent.cdc_raw.observation import observe
from agent.config.driver_file import driver_settings
from agent.keystore.source import KeySource, open_segment
from agent.pipeline.read_attempts import FILE, ReadAttempts
from agent.quarantine.entries import SnapshotName, parse_quarantine_key
from agent.quarantine.files import LostRange
from agent.quarantine.quarantine import Quarantine
from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity, SchemaFile
from agent.transfer.transfer import ArchiveTransfer, DeleteTransfer
from commitlog import Schema, SegmentReader
from sidecar.errors import ConfigError, OffsetStoreError
from sidecar.files.directories import append_lines, exposed_directories, write_synced
from sidecar.files.regular import make_directory, read_regular
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.properties.references import resolve
from sidecar.properties.source import read_properties
from sidecar.sinks.file import FileSink
from sidecar.tls.store import read_store
from tests.support.agents.agent_directory import SCHEMA, payload, write_segment
from tests.support.agents.planted_files import NAME, SECRET

IDENTITY = NodeIdentity("node-1", "lab")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """File that the agent can read and write, and the attacker cannot."""
    path = tmp_path / "victim"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "cdc_raw"
    path.mkdir()
    return path


PLANTED = pytest.mark.parametrize(
    "plant",
    [lambda path, victim: path.symlink_to(victim), lambda path, victim: os.mkfifo(path)],
    ids=["link", "pipe"],
)
Plant = Callable[[Path, Path], None]


@PLANTED
def test_planted_segment_is_never_opened_or_archived(
    raw: Path, tmp_path: Path, victim: Path, plant: Plant
) -> None:
    plant(raw / NAME.log, victim)
    seen = observe(raw)
    assert seen.segments == ()
    assert seen.other_files == (NAME.log,)
    # Also if the attacker replaces a segment between the scan and the read.
    with pytest.raises(OSError):
        open_segment(raw / NAME.log, NAME.log, KeySource(None), follow_links=False)
    relocation = tmp_path / "relocation"
    with pytest.raises(OSError):
        ArchiveTransfer(relocation).transfer(raw / NAME.log, raw / NAME.idx)
    assert list((relocation / "archive").iterdir()) == []
    assert victim.read_bytes() == SECRET


def test_link_to_a_valid_segment_is_rejected(raw: Path, tmp_path: Path) -> None:
    """The content is irrelevant: the node did not create the name."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    segment = write_segment(elsewhere, 1, [[payload(1)]])
    (raw / NAME.log).symlink_to(segment)
    assert observe(raw).other_files == (NAME.log,)
    with pytest.raises(OSError):
        SegmentReader(str(raw / NAME.log), follow_links=False)
    # A link on the command line is intended.
    assert SegmentReader(str(raw / NAME.log)).descriptor.segment_id == 1


@PLANTED
def test_planted_index_is_ignored(raw: Path, victim: Path, plant: Plant) -> None:
    write_segment(raw, 1, [[payload(1)]], idx=None)
    victim.write_text("99\nCOMPLETED\n")
    plant(raw / NAME.idx, victim)
    (seen,) = observe(raw).segments
    assert seen.idx == Idx(unreadable=seen.idx.unreadable)
    assert seen.idx.unreadable


def test_delete_transfer_keeps_the_target_of_a_link(raw: Path, victim: Path) -> None:
    (raw / NAME.log).hardlink_to(victim)
    (raw / NAME.idx).symlink_to(victim)
    DeleteTransfer().transfer(raw / NAME.log, raw / NAME.idx)
    assert not any(raw.iterdir())
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("is_hard", [False, True])
def test_planted_temporary_file_is_replaced(tmp_path: Path, victim: Path, is_hard: bool) -> None:
    """The names are predictable: the agent replaces an existing file and never opens it."""
    temporary = tmp_path / ".offsets.tmp"
    (temporary.hardlink_to if is_hard else temporary.symlink_to)(victim)
    write_synced(temporary, b"new")
    assert victim.read_bytes() == SECRET
    assert temporary.read_bytes() == b"new"
    assert not temporary.is_symlink()


@pytest.mark.parametrize("is_hard", [False, True])
def test_offsets_are_never_written_through_planted_links(
    tmp_path: Path, victim: Path, is_hard: bool
) -> None:
    store = PropertiesStore(tmp_path, "offsets.properties")
    for name in (".offsets.properties.tmp", ".offsets.properties.previous.tmp"):
        planted = tmp_path / name
        (planted.hardlink_to if is_hard else planted.symlink_to)(victim)
    store.save({"a": "1"})
    store.save({"a": "2"})
    assert store.load().values == {"a": "2"}
    assert victim.read_bytes() == SECRET


@PLANTED
def test_planted_offset_file_is_an_error_without_its_content(
    tmp_path: Path, victim: Path, plant: Plant
) -> None:
    store = PropertiesStore(tmp_path, "offsets.properties")
    plant(store.path, victim)
    with pytest.raises(OffsetStoreError) as raised:
        store.load()
    assert "secret" not in str(raised.value)


def test_cross_device_move_never_writes_through_a_planted_link(
    raw: Path, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attacker plants the temporary name again after the agent has removed it."""
    write_segment(raw, 1, [[payload(1)]])
    temporary = tmp_path / f".{NAME.log}.tmp"

    def plant_again(*_: object, **__: object) -> None:
        temporary.symlink_to(victim)
        raise OSError(18, os.strerror(18))

    monkeypatch.setattr(os, "link", plant_again)
    move(raw / NAME.log, tmp_path / NAME.log)
    assert victim.read_bytes() == SECRET
    assert (tmp_path / NAME.log).is_file()
    assert not (tmp_path / NAME.log).is_symlink()


@PLANTED
def test_quarantine_never_reads_or_writes_through_planted_links(
    tmp_path: Path, victim: Path, plant: Plant
) -> None:
    quarantine = Quarantine(tmp_path / "error", 1 << 20, "1.2.3")
    quarantine.directory.mkdir()
    reason = quarantine.directory / f"{NAME.log}.reason.json"
    plant(reason, victim)
    with pytest.raises(OSError):
        quarantine.reason(NAME)
    reason.unlink()
    plant(quarantine.directory / f".{reason.name}.tmp", victim)
    quarantine.record_ranges(NAME, [LostRange(1, 2, "damaged")])
    plant(quarantine.directory / "events.ndjson", victim)
    with pytest.raises(OSError):
        append_lines(quarantine.directory / "events.ndjson", b"{}\n")
    assert victim.read_bytes() == SECRET


@PLANTED
def test_planted_quarantined_segment_is_not_requeued(
    raw: Path, tmp_path: Path, victim: Path, plant: Plant
) -> None:
    quarantine = Quarantine(tmp_path / "error", 1 << 20, "1.2.3")
    quarantine.directory.mkdir()
    plant(quarantine.directory / NAME.log, victim)
    with pytest.raises(OSError):
        quarantine.requeue(NAME, raw)
    assert not any(raw.iterdir())


@PLANTED
def test_file_sink_keeps_the_target_of_a_link(tmp_path: Path, victim: Path, plant: Plant) -> None:
    """Opening a file sink truncates a torn line, which would empty a file without line ends."""
    victim.write_bytes(b"no line end")
    plant(tmp_path / "events.ndjson", victim)
    with pytest.raises(ConfigError, match=r"file\.path"):
        FileSink(tmp_path / "events.ndjson").open()
    assert victim.read_bytes() == b"no line end"


@PLANTED
def test_planted_schema_history_is_not_read(tmp_path: Path, victim: Path, plant: Plant) -> None:
    """A pipe would block the agent's start, and a link would expose another file's content."""
    history = SchemaHistory(tmp_path)
    plant(history.path, victim)
    assert history.load() is None


def test_directory_link_of_another_user_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "archive"
    link.symlink_to(tmp_path / "elsewhere")
    # The operator linked a larger disk.
    make_directory(link)
    if os.geteuid() != 0:
        pytest.skip("giving a link to another user takes root")
    os.chown(link, 12345, 12345, follow_symlinks=False)
    with pytest.raises(OSError, match="another user"):
        make_directory(link)


def test_new_files_are_inaccessible_to_other_users(tmp_path: Path) -> None:
    append_lines(tmp_path / "events.ndjson", b"{}\n")
    write_synced(tmp_path / "offsets", b"")
    sink = FileSink(tmp_path / "sink.ndjson")
    sink.open()
    sink.close(0)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & stat.S_IRWXO == 0, path


def test_sparse_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="more than 4096 bytes"):
        read_regular(big, 4096)


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(read_properties, id="configuration"),
        pytest.param(lambda path: resolve(f"${{file:{path}}}", {}), id="reference"),
        pytest.param(lambda path: SchemaFile(path, IDENTITY).fetch(), id="schema"),
        pytest.param(driver_settings, id="HOCON"),
        pytest.param(lambda path: read_store(path, ""), id="TLS store"),
    ],
)
def test_endless_operator_file_is_an_error(tmp_path: Path, read: Callable[[Path], object]) -> None:
    endless = tmp_path / "link"
    endless.symlink_to("/dev/zero")
    with pytest.raises((ConfigError, ValueError, OSError), match=r"more than \d+ bytes"):
        read(endless)


def test_world_writable_directories_are_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (sentence,) = exposed_directories([("offset.backing.store.dir", tmp_path)])
    assert sentence.startswith("offset.backing.store.dir: ")
    assert "chmod o-w" in sentence
    for mode in (0o1777, 0o775, 0o700):
        tmp_path.chmod(mode)
        assert exposed_directories([("offset.backing.store.dir", tmp_path)]) == []


def test_pod_volume_may_be_world_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Kubernetes emptyDir has mode 0777, and other users cannot reach it."""
    tmp_path.chmod(0o777)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path)
    assert exposed_directories([("offset.backing.store.dir", tmp_path)])
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert exposed_directories([("offset.backing.store.dir", tmp_path)]) == []
    inner = tmp_path / "inner"
    inner.mkdir()
    inner.chmod(0o777)
    assert exposed_directories([("offset.backing.store.dir", inner)])


@pytest.mark.parametrize(
    "name",
    [
        "../CommitLog-7-1.log",
        "CommitLog-7-1.log/../../etc/passwd",
        "/etc/CommitLog-7-1.log",
        "CommitLog-7-1.log\0.log",
        "CommitLog-7-1.log\n",
        "CommitLog-7-%31.log",
        "CommitLog-7-١.log",
        "CommitLog-7-" + "9" * 300 + ".log",
        "CommitLog-99999999999-1.log",
        "snapshot-../../etc/passwd",
        "snapshot-/../../victim",
        "snapshot-shop.orders/../../x",
        "snapshot-shop.orders\0",
        "snapshot-" + "a" * 300 + ".b",
    ],
)
def test_quarantine_keys_are_segment_or_table_names_only(name: str) -> None:
    assert parse_quarantine_key(name) is None
    assert parse_quarantine_key("snapshot-shop.orders") == SnapshotName("shop.orders")


LOG, IDX = NAME.log, NAME.idx


def archive(folder: Path, plant: Callable[[Path], None]) -> None:
    (folder / "archive").mkdir()
    for name in (LOG, IDX):
        plant(folder / "archive" / name)
        plant(folder / "archive" / f".{name}.tmp")
    write_segment(folder, 1, [[payload(1)]])
    ArchiveTransfer(folder).transfer(folder / LOG, folder / IDX)
    assert (folder / "archive" / LOG).stat().st_nlink == 1


def quarantine(folder: Path, plant: Callable[[Path], None]) -> None:
    found = Quarantine(folder / "error", 1 << 20, "1.2.3")
    found.directory.mkdir()
    for name in (f"{LOG}.reason.json", f".{LOG}.reason.json.tmp"):
        plant(found.directory / name)
    found.record_ranges(NAME, [LostRange(1, 2, "damaged")])


def requeue(folder: Path, plant: Callable[[Path], None]) -> None:
    """The quarantined file belongs to the agent; its name in `cdc_raw` is taken."""
    write_segment(folder, 1, [[payload(1)]])
    (folder / "raw").mkdir()
    plant(folder / "raw" / LOG)
    move(folder / LOG, folder / "raw" / LOG)
    assert (folder / "raw" / LOG).stat().st_nlink == 1


def offsets(folder: Path, plant: Callable[[Path], None]) -> None:
    store = PropertiesStore(folder, "offsets.properties")
    for name in ("offsets.properties.previous", ".offsets.properties.tmp"):
        plant(folder / name)
    store.save({"a": "1"})
    store.save({"a": "2"})
    assert store.load().values == {"a": "2"}


def schema_history(folder: Path, plant: Callable[[Path], None]) -> None:
    history = SchemaHistory(folder)
    for name in (history.path.name, f".{history.path.name}.tmp"):
        plant(folder / name)
    history.save(KnownSchema(Schema.from_cql(SCHEMA), NodeIdentity("node", "lab")))
    assert history.load() is not None


def read_note(folder: Path, plant: Callable[[Path], None]) -> None:
    plant(folder / FILE)
    attempts = ReadAttempts(folder)
    with attempts.reading(SegmentName(id=1, version=7), 0):
        assert (folder / FILE).stat().st_nlink == 1
    attempts.close()


@pytest.mark.parametrize("act", [archive, quarantine, requeue, offsets, schema_history, read_note])
def test_target_of_a_planted_hard_link_keeps_its_content(
    act: Callable[[Path, Callable[[Path], None]], None], tmp_path: Path, victim: Path
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    planted: list[Path] = []

    def plant(path: Path) -> None:
        path.hardlink_to(victim)
        planted.append(path)

    act(folder, plant)
    assert planted
    assert victim.read_bytes() == SECRET
