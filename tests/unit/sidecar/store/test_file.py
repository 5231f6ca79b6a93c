import os
from pathlib import Path

import pytest

from sidecar.store.base import StoreError
from sidecar.store.file import WRITE, FileStore
from sidecar.store.registry import parse_claim_directory


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_denied_access_is_told_apart(tmp_path: Path, sent: Path) -> None:
    directory = tmp_path / "there"
    directory.mkdir(mode=0o500)
    store = store_in(directory)
    assert store.missing_rights() == [WRITE]
    with pytest.raises(StoreError, match="Permission denied") as caught:
        store.put(sent)
    assert caught.value.is_forbidden


def test_rights_leave_no_file(tmp_path: Path) -> None:
    assert store_in(tmp_path / "there").missing_rights() == []
    assert list((tmp_path / "there").iterdir()) == []
