"""Endless responses of a store use neither unbounded memory nor unbounded disk space."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.store.base import RemoteDirectory, S3Options, StoreError, StoreSettings
from sidecar.store.bounded_responses import BoundedFile
from sidecar.store.s3 import S3Store
from tests.support.servers.answering import OK, answering

MIB = 1 << 20


def endless(request: bytes) -> tuple[bytes, bytes]:
    """Headers announce objects of nine bytes; bodies are endless."""
    head = OK + b'ETag: "0"\r\n'
    if request.startswith(b"HEAD"):
        return head + b"Content-Length: 9\r\n\r\n", b""
    return head + b"\r\n", bytes(MIB)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Store]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with answering(endless) as server:
        settings = StoreSettings(timeout_s=60, s3=S3Options(endpoint=server.url))
        yield S3Store(RemoteDirectory("bucket", "p", "s3"), settings)


def test_endless_s3_listing_is_rejected(store: S3Store) -> None:
    with pytest.raises(StoreError, match="exceeds 4 MiB"):
        store.names()


def test_endless_s3_object_stops_at_announced_size(store: S3Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="more bytes than the size"):
        store.get("CommitLog-7-1.log", tmp_path / "CommitLog-7-1.log")
    assert list(tmp_path.iterdir()) == []


def test_bounded_file_rejects_bytes_beyond_the_size() -> None:
    content = io.BytesIO()
    file = BoundedFile(content, 3)
    file.write(b"abc")
    with pytest.raises(StoreError):
        file.write(b"d")
    assert content.getvalue() == b"abc"
