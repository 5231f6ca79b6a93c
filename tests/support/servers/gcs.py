"""A real server of Google Cloud Storage's JSON API (fake-gcs-server), and faults on the way to it.

The server keeps objects in memory and holds uploads to their generation preconditions and
checksums. Unlike Google's it appends a chunk that comes twice.
"""

import http.client
import json
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.servers.go import go_program
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

VERSION = "v1.56.1"
_TIMEOUT_S = 60


class GcsServer:
    """`with GcsServer(tmp_path) as server:` gives a server on a free loopback port."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        program = go_program("github.com/fsouza/fake-gcs-server", VERSION)
        command = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port)]
        command += ["-backend", "memory", "-log-level", "warn"]
        self._process = ServerProcess(f"fake-gcs-server {VERSION}", command, directory / "gcs.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.is_running:
            self._process.kill()

    def start(self) -> None:
        """With nothing in it."""
        self._process.start()
        wait_until(lambda: accepts_connections("127.0.0.1", self.port), "it", process=self._process)

    def kill(self) -> None:
        self._process.kill()

    def create_bucket(self, name: str) -> None:
        self._ask("POST", "/storage/v1/b", json.dumps({"name": name}).encode())

    def put(self, bucket: str, name: str, content: bytes) -> None:
        """An object, whatever is there."""
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        self._ask("POST", f"/upload/storage/v1/b/{bucket}/o?{query}", content)

    def names(self, bucket: str) -> list[str]:
        return list(self.sizes(bucket))

    def sizes(self, bucket: str) -> dict[str, int]:
        """Bytes of each object, by name."""
        found = json.loads(self._ask("GET", f"/storage/v1/b/{bucket}/o"))
        return {item["name"]: int(item["size"]) for item in found.get("items", ())}

    def content(self, bucket: str, name: str) -> bytes:
        quoted = urllib.parse.quote(name, safe="")
        return self._ask("GET", f"/storage/v1/b/{bucket}/o/{quoted}?alt=media")

    def delete(self, bucket: str, name: str) -> None:
        self._ask("DELETE", f"/storage/v1/b/{bucket}/o/{urllib.parse.quote(name, safe='')}")

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"{self.url}{path}", body, method=method)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return bytes(answer.read())


@dataclass(frozen=True)
class Seen:
    """A request as it came by."""

    method: str
    path: str
    content_range: str

    @property
    def is_chunk(self) -> bool:
        """Part of a resumable upload, not its beginning."""
        return "upload_id=" in self.path

    @property
    def is_upload(self) -> bool:
        return self.path.startswith("/upload/")


@dataclass(frozen=True)
class Fault:
    """What becomes of one request. `status`: it is answered with it, and with `body`, and goes
    nowhere. `cut`: the connection ends in the middle of its body. `swallow`: the server gets it,
    and the answer is lost. `rewrite`: changes the answer. `headers` are those of an answer with
    `status`. `before` is called first."""

    status: int | None = None
    body: bytes | None = None
    cut: bool = False
    swallow: bool = False
    rewrite: Callable[[bytes], bytes] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    before: Callable[[], None] | None = None


Plan = Callable[[Seen], Fault | None]


class FaultProxy:
    """Stands before a server. `plan` says what becomes of a request; None: it passes."""

    def __init__(self, port: int) -> None:
        self.plan: Plan | None = None
        self.seen: list[Seen] = []
        proxy = self

        class Handler(_Handler):
            upstream_port = port

            def decide(self, seen: Seen) -> Fault | None:
                proxy.seen.append(seen)
                return proxy.plan(seen) if proxy.plan is not None else None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream_port: int

    def decide(self, seen: Seen) -> Fault | None:
        raise NotImplementedError

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _pass(self) -> None:
        seen = Seen(self.command, self.path, self.headers.get("Content-Range", ""))
        fault = self.decide(seen) or Fault()
        if fault.before is not None:
            fault.before()
        length = int(self.headers.get("Content-Length") or 0)
        if fault.cut:
            self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if fault.status is not None:
            message = json.dumps({"error": {"code": fault.status, "message": "as planned"}})
            answer = fault.body or message.encode()
            kind = "application/xml" if answer.startswith(b"<?xml") else "application/json"
            self._answer(fault.status, [("Content-Type", kind), *fault.headers], answer)
            return
        status, headers, answer = self._ask(body)
        if fault.swallow:
            self.close_connection = True
            return
        self._answer(status, headers, fault.rewrite(answer) if fault.rewrite else answer)

    # The names that the base class looks for.
    do_GET = _pass  # noqa: N815
    do_POST = _pass  # noqa: N815
    do_PUT = _pass  # noqa: N815
    do_DELETE = _pass  # noqa: N815
    do_HEAD = _pass  # noqa: N815

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = http.client.HTTPConnection("127.0.0.1", self.upstream_port, timeout=_TIMEOUT_S)
        try:
            headers = {name: value for name, value in self.headers.items()}
            upstream.request(self.command, self.path, body, headers)
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding", "date"):
                self.send_header(name, value)
        if self.command == "HEAD":
            self.send_header("Content-Length", dict(headers).get("Content-Length", "0"))
            self.end_headers()
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""
