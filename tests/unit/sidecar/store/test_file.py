import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sidecar.store.base import StoreError
from sidecar.store.file import WRITE, FileStore
from sidecar.store.registry import parse_claim_directory

NOBODY = 65_534


def store_in(directory: Path) -> FileStore:
    return FileStore(parse_claim_directory(f"file://{directory}"))


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    file = tmp_path / "a.json"
    file.write_bytes(b"content")
    return file


def test_file_is_stored_once(tmp_path: Path, sent: Path) -> None:
    store = store_in(tmp_path / "there")
    assert store.address == f"file://{tmp_path}/there"
    assert store.names() == []
    assert store.put(sent)
    assert not store.put(sent)
    assert store.names() == ["a.json"]
    assert (tmp_path / "there" / "a.json").read_bytes() == b"content"
    assert len(list((tmp_path / "there").iterdir())) == 1


def test_damaged_file_is_replaced(tmp_path: Path, sent: Path) -> None:
    store = store_in(tmp_path / "there")
    store.put(sent)
    (tmp_path / "there" / "a.json").write_bytes(b"con")
    assert store.put(sent)
    assert (tmp_path / "there" / "a.json").read_bytes() == b"content"


def test_file_is_fetched_and_removed(tmp_path: Path, sent: Path) -> None:
    store, target = store_in(tmp_path / "there"), tmp_path / "target"
    assert not store.get("a.json", target)
    store.put(sent)
    assert store.get("a.json", target)
    assert target.read_bytes() == b"content"
    store.remove("a.json")
    store.remove("a.json")
    assert store.names() == []


def test_missing_parent_is_an_error(tmp_path: Path, sent: Path) -> None:
    store = store_in(tmp_path / "mount" / "there")
    for ask in (lambda: store.put(sent), store.missing_rights):
        with pytest.raises(StoreError, match="mount/there cannot be used: No such file") as caught:
            ask()
        assert not caught.value.is_forbidden
    assert not (tmp_path / "mount").exists()


@contextmanager
def without_root() -> Iterator[None]:
    """Root may write everywhere, so the block runs as another user."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_denied_access_is_told_apart() -> None:
    # Other users cannot reach the directory of `tmp_path`.
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "there").mkdir()
        (folder / "there").chmod(0o555)
        sent = folder / "a.json"
        sent.write_bytes(b"content")
        sent.chmod(0o644)
        store = store_in(folder / "there")
        with without_root():
            assert store.missing_rights() == [WRITE]
            with pytest.raises(StoreError, match="Permission denied") as caught:
                store.put(sent)
        assert caught.value.is_forbidden
        assert list((folder / "there").iterdir()) == []


def test_rights_leave_no_file(tmp_path: Path) -> None:
    assert store_in(tmp_path / "there").missing_rights() == []
    assert list((tmp_path / "there").iterdir()) == []
