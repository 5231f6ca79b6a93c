"""A proxy before a store's server, with faults that a test plans."""

import http.client
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.servers.processes import DEADLINE_S


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
        self._server = _Server(port, self._decide)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _decide(self, seen: Seen) -> Fault | None:
        self.seen.append(seen)
        return self.plan(seen) if self.plan is not None else None


class _Server(ThreadingHTTPServer):
    def __init__(self, upstream_port: int, decide: Plan) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream_port = upstream_port
        self.decide = decide


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _pass(self) -> None:
        seen = Seen(self.command, self.path, self.headers.get("Content-Range", ""))
        fault = self.server.decide(seen) or Fault()
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
        port = self.server.upstream_port
        upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
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
