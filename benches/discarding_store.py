"""A Google Cloud Storage server (JSON API) that discards objects, in a separate process.

A real store runs elsewhere and uses none of the agent's CPU time. So this one only reads objects
and computes the checksums of its responses. It implements the agent's requests: checks for an
existing object, and uploads, resumable or in one request.

`python -m benches.discarding_store` prints its port, and exits when its standard input closes.
"""

import base64
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import google_crc32c

_READ_BYTES = 1 << 20
_RESUME_INCOMPLETE = 308


@dataclass(frozen=True)
class DiscardingStore:
    """A running server."""

    url: str
    pid: int

    def received_bytes(self) -> int:
        """Object bytes received, including incomplete uploads."""
        with urllib.request.urlopen(f"{self.url}/received") as answer:
            return int(answer.read())


@contextmanager
def discarding_store() -> Iterator[DiscardingStore]:
    """Start the server on a free loopback port, at the lowest priority."""
    command = ["nice", "-n", "19", sys.executable, "-m", "benches.discarding_store"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield DiscardingStore(
                f"http://127.0.0.1:{process.stdout.readline().strip()}", process.pid
            )
        finally:
            process.kill()


class _Upload:
    def __init__(self, name: str) -> None:
        self.name = name
        self.size_bytes = 0
        self.checksum = 0

    def document(self) -> dict[str, str]:
        return {
            "name": self.name,
            "size": str(self.size_bytes),
            "crc32c": base64.b64encode(self.checksum.to_bytes(4)).decode(),
            "generation": "1",
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.uploads: list[_Upload] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        # The agent may be killed during an upload.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Sends head and body in one packet; a second packet would wait for 40 ms.
    wbufsize = -1
    server: _Server

    def do_GET(self) -> None:
        if self.path == "/received":
            self._answer(200, str(sum(each.size_bytes for each in self.server.uploads)).encode())
        else:
            self._answer(404, json.dumps({"error": {"code": 404, "message": "no object"}}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind, _, boundary = self.headers["Content-Type"].partition("; boundary=")
        if kind == "multipart/related":
            self._upload_at_once(body.split(b"--" + boundary.strip('"').encode())[1:3])
            return
        number = len(self.server.uploads)
        self.server.uploads.append(_Upload(json.loads(body)["name"]))
        self._answer(200, b"", {"Location": f"{self.server.url}/{number}"})

    def _upload_at_once(self, parts: list[bytes]) -> None:
        """Split a multipart upload into the metadata part and the content part."""
        metadata, content = (part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n") for part in parts)
        upload = _Upload(json.loads(metadata)["name"])
        upload.checksum = google_crc32c.extend(0, content)
        upload.size_bytes = len(content)
        self.server.uploads.append(upload)
        self._answer(200, json.dumps(upload.document()).encode())

    def do_PUT(self) -> None:
        upload = self.server.uploads[int(self.path[1:])]
        left = int(self.headers["Content-Length"])
        while left:
            block = self.rfile.read(min(left, _READ_BYTES))
            if not block:
                self.close_connection = True
                return
            upload.checksum = google_crc32c.extend(upload.checksum, block)
            upload.size_bytes += len(block)
            left -= len(block)
        if upload.size_bytes == int(self.headers["Content-Range"].rpartition("/")[2]):
            self._answer(200, json.dumps(upload.document()).encode())
        else:
            received = {"Range": f"bytes=0-{upload.size_bytes - 1}"}
            self._answer(_RESUME_INCOMPLETE, b"", received)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def main() -> None:
    with _Server() as server:
        print(server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
