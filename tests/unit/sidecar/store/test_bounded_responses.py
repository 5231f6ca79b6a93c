"""Responses of a store without end: neither memory nor disk takes them."""

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sidecar.store.base import StoreError
from sidecar.store.bounded_responses import BoundedFile
from sidecar.store.remote_directory import RemoteDirectory
from sidecar.store.s3 import S3Store
from sidecar.store.settings import S3Options, StoreSettings

MIB = 1 << 20


class Endless(BaseHTTPRequestHandler):
    """Objects of nine bytes by their headers; bodies without end."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "9")
        self.send_header("ETag", '"0"')
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("ETag", '"0"')
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(MIB))
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Store]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    options = S3Options(endpoint=f"http://127.0.0.1:{server.server_port}")
    yield S3Store(RemoteDirectory("bucket", "p", "s3"), StoreSettings(timeout_s=60, s3=options))
    server.shutdown()
    server.server_close()
    thread.join()


def test_listing_of_s3_without_end_is_not_kept(store: S3Store) -> None:
    with pytest.raises(StoreError, match="exceeds 4 MiB"):
        store.names()


def test_object_of_s3_without_end_stops_at_its_size(store: S3Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="more bytes than the size"):
        store.get("CommitLog-7-1.log", tmp_path / "CommitLog-7-1.log")
    assert list(tmp_path.iterdir()) == []


def test_bounded_file_takes_its_size_and_no_more() -> None:
    content = io.BytesIO()
    file = BoundedFile(content, 3)
    file.write(b"abc")
    with pytest.raises(StoreError):
        file.write(b"d")
    assert content.getvalue() == b"abc"
