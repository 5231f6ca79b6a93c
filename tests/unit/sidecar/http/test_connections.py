"""Clients that hold connections cannot keep probes from their answers."""

import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from flask import Blueprint, Response, request

from sidecar.http import connections
from sidecar.http.connections import CONNECTION_LIMIT, THREADS
from sidecar.http.server import HttpServer
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.servers.processes import DEADLINE_S, wait_until

_CLIENTS = 2 * CONNECTION_LIMIT


def _half_header(client: socket.socket) -> None:
    client.sendall(b"GET /ping HTTP/1.1\r\nHost: a")


def _slow_body(client: socket.socket) -> None:
    client.sendall(b"POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx")


def _unread_answers(client: socket.socket) -> None:
    client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")


def _pipelined_unread(client: socket.socket) -> None:
    client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n" * 50)


def _silent(client: socket.socket) -> None:
    """Sends nothing."""


@contextmanager
def _running(*pages: Blueprint) -> Iterator[HttpServer]:
    large = Blueprint("large", __name__)

    @large.get("/large")
    def answer() -> Response:
        return Response(b"x" * (8 << 20))

    with HttpServer(FakeStatus(), HOST, 0, (large, *pages)) as server:
        yield server


def _get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=DEADLINE_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def _connect(port: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(DEADLINE_S)
    client.connect((HOST, port))
    return client


def _server_ends(port: int) -> int:
    """Established connections of the server's side, from the kernel."""
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    return sum(
        1 for line in lines if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01"
    )


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    "misuse", [_silent, _half_header, _slow_body, _unread_answers, _pipelined_unread]
)
def test_probes_are_answered_while_clients_hold_connections(
    misuse: Callable[[socket.socket], None],
) -> None:
    with _running() as server, ExitStack() as clients:
        before = _descriptors()
        for _ in range(_CLIENTS):
            client = clients.enter_context(_connect(server.port))
            try:
                misuse(client)
            except OSError:
                # The server closed it for a newer one.
                continue
        assert [_get(server.port, path) for path in ("/ping", "/live", "/ready")] == [200] * 3
        # The clients' own ends, and at most the limit of the server's.
        assert _descriptors() - before <= _CLIENTS + CONNECTION_LIMIT + 1


def test_the_connection_that_has_owed_a_request_for_longest_is_closed() -> None:
    with _running() as server, ExitStack() as clients:
        held = [clients.enter_context(_connect(server.port)) for _ in range(CONNECTION_LIMIT + 1)]
        assert held[0].recv(1) == b""
        held[1].sendall(b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
        assert held[1].recv(15) == b"HTTP/1.1 200 OK"


def test_a_request_that_does_not_end_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT_S", 0)
    with _running() as server, _connect(server.port) as client:
        _slow_body(client)
        assert client.recv(1) == b""


@pytest.mark.parametrize("misuse", [_unread_answers, _pipelined_unread])
def test_an_answer_that_is_not_read_is_closed(
    monkeypatch: pytest.MonkeyPatch, misuse: Callable[[socket.socket], None]
) -> None:
    """Also when complete requests wait behind it."""
    monkeypatch.setattr(connections, "ANSWER_TIMEOUT_S", 0)
    with _running() as server, _connect(server.port) as client:
        misuse(client)

        first = client.recv(12)
        wait_until(lambda: _server_ends(server.port) == 0, "the server to close its end")
        assert first == b"HTTP/1.1 200"


def test_clients_that_pipeline_and_never_read_hold_no_thread() -> None:
    with _running() as server, ExitStack() as clients:
        for _ in range(THREADS):
            client = clients.enter_context(_connect(server.port))
            _pipelined_unread(client)
            # An answer waits for the client.
            assert client.recv(1) == b"H"
        assert [_get(server.port, "/live") for _ in range(10)] == [200] * 10


def test_unread_answers_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 8 MiB each."""
    monkeypatch.setattr(connections, "UNREAD_BYTES", 20 << 20)
    with _running() as server, ExitStack() as clients:
        for _ in range(10):
            client = clients.enter_context(_connect(server.port))
            _unread_answers(client)
            assert client.recv(1) == b"H"
        wait_until(lambda: _server_ends(server.port) <= 4, "the oldest connections to close")
        assert _get(server.port, "/live") == 200


@pytest.mark.parametrize("size", [1, 7, 40, 8192])
def test_pipelined_requests_are_answered_in_their_order(size: int) -> None:
    """Whatever the pieces in which they arrive; a body is no request."""
    page = Blueprint("echo", __name__)

    @page.post("/echo/<name>")
    def echo(name: str) -> Response:
        return Response(f"[{name} {len(request.get_data())}]")

    chunked = b"Transfer-Encoding: chunked\r\n\r\n4\r\nGET \r\n2;a=b\r\n/ \r\n0\r\n\r\n"
    sized = b"Content-Length: 20\r\n\r\nGET / HTTP/1.1\r\n\r\nab"
    content = b"".join(
        b"\r\nPOST /echo/%d HTTP/1.1\r\nHost: a\r\n" % number + (chunked, sized)[number % 2]
        for number in range(6)
    )
    with _running(page) as server, _connect(server.port) as client:
        for at in range(0, len(content), size):
            client.sendall(content[at : at + size])
        client.shutdown(socket.SHUT_WR)
        answers = b""
        while block := client.recv(65536):
            answers += block
    sizes = (6, 20)
    expected = [b"[%d %d]" % (number, sizes[number % 2]) for number in range(6)]
    assert re.findall(rb"\[.*?\]", answers) == expected


def test_requests_that_wait_leave_threads_for_probes() -> None:
    release = threading.Event()
    waiting = threading.Semaphore(0)
    page = Blueprint("wait", __name__)

    @page.post("/wait")
    def wait() -> Response:
        waiting.release()
        release.wait(DEADLINE_S)
        return Response("done")

    with _running(page) as server, ExitStack() as clients:
        held = [clients.enter_context(_connect(server.port)) for _ in range(4)]
        for client in held[:2]:
            client.sendall(b"POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            assert waiting.acquire(timeout=DEADLINE_S)
        for client in held[2:]:
            client.sendall(b"POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 503"
        assert _get(server.port, "/live") == 200
        release.set()
        for client in held[:2]:
            assert client.recv(12) == b"HTTP/1.1 200"
