"""Clients that hold connections cannot block answers to probes."""

import http.client
import re
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Blueprint, Response, request
from hypothesis import given
from hypothesis import strategies as st

from sidecar.http import connections
from sidecar.http.connections import LEAST_CONNECTIONS, MOST_CONNECTIONS, THREADS, connection_limit
from sidecar.http.server import HttpServer
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.servers.processes import DEADLINE_S, wait_until

pytestmark = pytest.mark.heavy

_LIMIT = connection_limit(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
_CLIENTS = 2 * _LIMIT


_SILENT = b""
_HALF_HEADER = b"GET /ping HTTP/1.1\r\nHost: a"
_SLOW_BODY = b"POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx"
_UNREAD_ANSWER = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
_PIPELINED_UNREAD = _UNREAD_ANSWER * 50


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
    """Count established server-side connections, as the kernel lists them."""
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    return sum(
        1 for line in lines if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01"
    )


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    "misuse", [_SILENT, _HALF_HEADER, _SLOW_BODY, _UNREAD_ANSWER, _PIPELINED_UNREAD]
)
def test_probes_are_answered_while_clients_hold_connections(misuse: bytes) -> None:
    with _running() as server, ExitStack() as clients:
        before = _descriptors()
        for _ in range(_CLIENTS):
            client = clients.enter_context(_connect(server.port))
            try:
                client.sendall(misuse)
            except OSError:
                # The server closed the connection in favour of a newer one.
                continue
        assert [_get(server.port, path) for path in ("/ping", "/live", "/ready")] == [200] * 3
        # The clients' ends, and at most the limit of the server's ends.
        assert _descriptors() - before <= _CLIENTS + _LIMIT + 1


def test_longest_idle_connection_is_closed_at_the_limit() -> None:
    with _running() as server, ExitStack() as clients:
        held = [clients.enter_context(_connect(server.port)) for _ in range(_LIMIT + 1)]
        assert held[0].recv(1) == b""
        held[1].sendall(b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
        assert held[1].recv(15) == b"HTTP/1.1 200 OK"


def test_unfinished_request_is_closed_after_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT_S", 0)
    with _running() as server, _connect(server.port) as client:
        client.sendall(_SLOW_BODY)
        assert client.recv(1) == b""


@pytest.mark.parametrize("misuse", [_UNREAD_ANSWER, _PIPELINED_UNREAD])
def test_unread_answer_is_closed_after_timeout(
    monkeypatch: pytest.MonkeyPatch, misuse: bytes
) -> None:
    """Pipelined requests do not extend the timeout."""
    monkeypatch.setattr(connections, "ANSWER_TIMEOUT_S", 0)
    with _running() as server, _connect(server.port) as client:
        client.sendall(misuse)

        first = client.recv(12)
        wait_until(lambda: _server_ends(server.port) == 0, "the server to close its end")
        assert first == b"HTTP/1.1 200"


def test_pipelining_clients_that_never_read_hold_no_thread() -> None:
    with _running() as server, ExitStack() as clients:
        for _ in range(THREADS):
            client = clients.enter_context(_connect(server.port))
            client.sendall(_PIPELINED_UNREAD)
            # An answer waits for the client.
            assert client.recv(1) == b"H"
        assert [_get(server.port, "/live") for _ in range(10)] == [200] * 10


def test_total_size_of_unread_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer has 8 MiB."""
    monkeypatch.setattr(connections, "UNREAD_BYTES", 20 << 20)
    with _running() as server, ExitStack() as clients:
        for _ in range(10):
            client = clients.enter_context(_connect(server.port))
            client.sendall(_UNREAD_ANSWER)
            assert client.recv(1) == b"H"
        wait_until(lambda: _server_ends(server.port) <= 4, "the oldest connections to close")
        assert _get(server.port, "/live") == 200


@pytest.mark.parametrize("size", [1, 7, 40, 8192])
def test_pipelined_requests_are_answered_in_order(size: int) -> None:
    """The order holds for any fragmentation, and a body is not parsed as a request."""
    page = Blueprint("echo", __name__)

    @page.post("/echo/<name>")
    def echo(name: str) -> Response:
        return Response(f"[{name} {len(request.get_data())}]")

    bodies = (b"GET / HTTP/1.1\r\n\r\nab", b"")
    content = b"".join(
        b"\r\nPOST /echo/%d HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b"
        % (number, len(body), body)
        for number, body in enumerate(bodies * 3)
    )
    with _running(page) as server, _connect(server.port) as client:
        for at in range(0, len(content), size):
            client.sendall(content[at : at + size])
        client.shutdown(socket.SHUT_WR)
        answers = b""
        while block := client.recv(65536):
            answers += block
    expected = [b"[%d %d]" % each for each in enumerate(map(len, bodies * 3))]
    assert re.findall(rb"\[.*?\]", answers) == expected


def test_probes_overtake_other_requests() -> None:
    dispatcher: Any = connections.ProbesFirst()
    paths = ["/history", "/live", "/metrics", "/ready", "/livelier", "/ping"]
    for path in paths:
        dispatcher.add_task(SimpleNamespace(requests=[SimpleNamespace(path=path)]))
    waiting = [task.requests[0].path for task in dispatcher.queue]
    assert waiting == ["/ping", "/ready", "/live", "/history", "/metrics", "/livelier"]


def test_blocked_requests_leave_threads_for_probes() -> None:
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


@given(open_files=st.integers(0, 1 << 20))
def test_connection_limit_leaves_descriptors_to_the_agent(open_files: int) -> None:
    limit = connection_limit(open_files)
    assert LEAST_CONNECTIONS <= limit <= MOST_CONNECTIONS
    assert limit == LEAST_CONNECTIONS or open_files - limit >= 3 * open_files // 4
    assert connection_limit(resource.RLIM_INFINITY) == MOST_CONNECTIONS == connection_limit(1024)


def test_idle_clients_leave_descriptors_at_small_limit() -> None:
    """Without a limit, 200 clients would use all 64 descriptors."""
    done = subprocess.run([sys.executable, "-c", _FEW_FILES], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


_FEW_FILES = """
import resource, socket, threading
from sidecar.http.connections import bounded_server
from tests.support.servers.processes import wait_until
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
own = [socket.socket() for _ in range(20)]
listener = socket.create_server(("127.0.0.1", 0), backlog=200)
sockets = {}
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
server = bounded_server(lambda _, start: start("200 OK", []) and [], listener, sockets)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
clients = [socket.create_connection(listener.getsockname()) for _ in range(200)]
threading.Thread(target=server.run, daemon=True).start()
probe = socket.create_connection(listener.getsockname())
probe.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
assert probe.recv(10)
assert len(sockets) <= 16 + 3, len(sockets)
"""
