"""Bodies and headers of HTTP that do not end, claim too much or carry something else."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from sidecar.http.server import HttpServer
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.agents.raw_http import END, change_pages, exchange

MIB = 1 << 20
CHUNKED = b"POST /change HTTP/1.1\r\n" + END + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """It still answers afterwards."""
    with HttpServer(FakeStatus(), HOST, 0, [change_pages()]) as found:
        yield found
        asking = http.client.HTTPConnection(HOST, found.port)
        asking.request("GET", "/ping")
        assert asking.getresponse().read() == b"pong"
        asking.close()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_chunks_without_end_are_cut(server: HttpServer) -> None:
    sent = 0
    with socket.create_connection((HOST, server.port)) as client:
        client.sendall(CHUNKED)
        try:
            while sent < 256 * MIB:
                client.sendall(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
                sent += 1 << 16
        except ConnectionError:
            # The server closed the connection.
            pass
    # What it allows, and what fits into the buffers of both ends.
    assert sent < 64 * MIB


@pytest.mark.parametrize(
    "chunk",
    [
        # The server waits ten seconds for the rest.
        pytest.param(b"ffffffffffffffff\r\na", marks=pytest.mark.slow),
        b"-1\r\na",
        b"xyz\r\na",
        b"1" * 100_000,
        b"1;" + b"a" * 300_000 + b"\r\na",
    ],
    ids=lambda chunk: chunk[:8].decode(),
)
def test_invalid_chunk_is_rejected(server: HttpServer, chunk: bytes) -> None:
    try:
        answer = exchange(server.port, CHUNKED + chunk + b"\r\n0\r\n\r\n")
    except ConnectionError:
        # Closed before all of it was sent.
        return
    assert answer == b"" or status_of(answer) == 411
    assert b"done" not in answer


def test_a_client_that_streams_a_body_learns_how_to_send_it(server: HttpServer) -> None:
    """As `curl --upload-file -` and clients of a body whose length they do not know do."""
    answer = exchange(
        server.port,
        b"POST /change HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n" % server.port,
    )
    head, _, text = answer.partition(b"\r\n\r\n")
    assert head.splitlines()[0].endswith(b" 411 Length Required")
    assert b"\r\nconnection: close" in head.lower()
    for remedy in (b"Content-Length", b"--data-binary @FILE"):
        assert remedy in text


def test_a_rebound_name_is_rejected_over_a_connection(server: HttpServer) -> None:
    for method in (b"GET /health", b"POST /change"):
        request = method + b" HTTP/1.1\r\nHost: attacker.example:%d\r\n" % server.port
        answer = exchange(server.port, request + b"Connection: close\r\n\r\n")
        assert status_of(answer) == 421
        assert b"a.log" not in answer


@pytest.mark.parametrize(
    "path", [b"/%0d%0aX-Evil:%201", b"/nope?a=%0d%0aX-Evil:%201", b"/\rX-Evil: 1"]
)
def test_nothing_of_a_path_becomes_a_header(server: HttpServer, path: bytes) -> None:
    answer = exchange(server.port, b"GET " + path + b" HTTP/1.1\r\n" + END + b"\r\n")
    head = answer.partition(b"\r\n\r\n")[0]
    assert b"x-evil" not in head.lower()
    assert status_of(answer) in (400, 404)


def test_no_other_protocol_is_spoken(server: HttpServer) -> None:
    upgrade = b"Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    answer = exchange(server.port, b"GET /ping HTTP/1.1\r\n" + END + upgrade + b"\r\n")
    assert status_of(answer) == 200
    for hello in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + bytes(600)):
        with socket.create_connection((HOST, server.port)) as client:
            client.sendall(hello)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(65536)
        assert answer == b"" or status_of(answer) in (400, 404, 405, 421, 505)
