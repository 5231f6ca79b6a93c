import errno
import os
from pathlib import Path

import pytest

from agent.cdc_raw.move import move
from agent.config.model import AgentProperties
from agent.metrics import AgentMetrics
from agent.transfer.registry import RemoteTransfer, create_transfer
from agent.transfer.transfer import ArchiveTransfer, DeleteTransfer, Transfer
from sidecar.metrics import DeliveryMetrics
from sidecar.store.base import RemoteDirectory

LOG, IDX = "CommitLog-7-1.log", "CommitLog-7-1_cdc.idx"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    raw = tmp_path / "cdc_raw"
    raw.mkdir()
    (raw / LOG).write_bytes(b"segment")
    (raw / IDX).write_bytes(b"5\nCOMPLETED")
    return raw


def created(name: str, relocation: Path) -> Transfer:
    properties = AgentProperties.model_construct(
        relocation_directory=relocation,
        remote_directory=RemoteDirectory("b", "p", "s3" if name == "s3" else "gs"),
    )
    metrics = AgentMetrics(DeliveryMetrics("agent", "1.2.3"))
    return create_transfer(name, properties, relocation / "cdc_raw", "node-1", metrics)


def refuse_links(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(source: Path, target: Path, **_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.parametrize("name", ["delete", "archive", "gcs", "s3"])
def test_unfetched_remote_segments_are_reported_at_start(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    created(name, tmp_path)
    assert caplog.messages == []
    (tmp_path / "error").mkdir()
    (tmp_path / "error" / f"{LOG}.remote").touch()
    created(name, tmp_path)
    said = any("commit.log.transfer.class=GCS or S3" in text for text in caplog.messages)
    assert said == (name in ("delete", "archive"))


@pytest.mark.parametrize("missing", [(), (LOG,), (IDX,), (LOG, IDX)])
@pytest.mark.parametrize("name", ["delete", "archive"])
def test_transfer_removes_segment_and_index_if_present(
    raw: Path, tmp_path: Path, name: str, missing: tuple[str, ...]
) -> None:
    for file_name in missing:
        (raw / file_name).unlink()
    transfer = created(name, tmp_path / "relocation")
    transfer.transfer(raw / LOG, raw / IDX)
    transfer.transfer(raw / LOG, raw / IDX)
    assert list(raw.iterdir()) == []
    archive = tmp_path / "relocation" / "archive"
    kept = {file.name for file in archive.iterdir()} if archive.exists() else set()
    assert kept == ({LOG, IDX} - set(missing) if name == "archive" else set())


@pytest.mark.parametrize("code", [None, errno.EXDEV, errno.EPERM])
def test_archive_works_across_file_systems(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    os.utime(raw / LOG, (1_000_000, 1_000_000))
    if code is not None:
        refuse_links(monkeypatch, code)
    ArchiveTransfer(tmp_path).transfer(raw / LOG, raw / IDX)
    assert (tmp_path / "archive" / LOG).read_bytes() == b"segment"
    assert (tmp_path / "archive" / LOG).stat().st_mtime == 1_000_000
    assert ((tmp_path / "archive" / IDX).read_bytes(), list(raw.iterdir())) == (b"5\nCOMPLETED", [])
    assert {file.name for file in (tmp_path / "archive").iterdir()} == {LOG, IDX}


def test_existing_archive_link_of_segment_is_replaced(raw: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    os.link(raw / LOG, archive / LOG)
    (archive / IDX).write_bytes(b"old")
    (archive / f".{LOG}.tmp").write_bytes(b"left by a crash")
    ArchiveTransfer(tmp_path).transfer(raw / LOG, raw / IDX)
    assert {file.name for file in archive.iterdir()} == {LOG, IDX}
    assert (archive / LOG).read_bytes() == b"segment"
    assert ((archive / IDX).read_bytes(), list(raw.iterdir())) == (b"5\nCOMPLETED", [])


def test_failed_move_leaves_the_source(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            move(raw / LOG, tmp_path / LOG)
    assert (raw / LOG).read_bytes() == b"segment"
    assert move(raw / LOG, tmp_path / LOG)
    assert (tmp_path / LOG).read_bytes() == b"segment"
    assert not move(raw / LOG, tmp_path / LOG)


def test_missing_target_directory_is_an_error(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        move(raw / LOG, tmp_path / "away" / LOG)
    assert (raw / LOG).exists()


def test_transfer_names_match_the_configuration(tmp_path: Path) -> None:
    assert isinstance(created("delete", tmp_path), DeleteTransfer)
    assert isinstance(created("archive", tmp_path), ArchiveTransfer)
    for name, scheme in (("gcs", "gs"), ("s3", "s3")):
        uploads = created(name, tmp_path)
        assert isinstance(uploads, RemoteTransfer)
        assert uploads.backlog.destination == f"{scheme}://b/p/node-1/archive"


def test_full_disk_is_reported_and_partial_copy_removed(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(copied: int, block: bytes, at: int) -> int:
        os.write(copied, block[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    refuse_links(monkeypatch, errno.EXDEV)
    monkeypatch.setattr(os, "pwrite", fill)
    (tmp_path / "archive").mkdir()
    with pytest.raises(OSError, match=f"{raw / LOG}.*{tmp_path / 'archive' / LOG}") as caught:
        move(raw / LOG, tmp_path / "archive" / LOG)
    assert (caught.value.errno, list((tmp_path / "archive").iterdir())) == (errno.ENOSPC, [])
    assert (raw / LOG).read_bytes() == b"segment"


def test_holes_are_not_copied(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any user with write access to `cdc_raw` can create a hole of a terabyte."""
    refuse_links(monkeypatch, errno.EXDEV)
    with (raw / LOG).open("r+b") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"data")
    assert move(raw / LOG, tmp_path / LOG)
    moved = (tmp_path / LOG).stat()
    assert (moved.st_size, moved.st_blocks * 512 < 1 << 23) == (1 << 40, True)
    with (tmp_path / LOG).open("rb") as file:
        assert file.read(7) == b"segment"
        file.seek(1 << 30)
        assert file.read(4) == b"data"
