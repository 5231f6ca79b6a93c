"""HTTP requests of web pages, proxies and foreign clients; bodies and headers that never end,
exceed limits or are invalid."""

import http.client
import socket
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from sidecar.http.guard import HEADERS, RequestFacts, rejection_of
from sidecar.http.hosts import KnownHosts, allowed_host_problems
from sidecar.http.jmx_pages import jmx_pages
from sidecar.http.server import HttpServer, create_app
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.agents.raw_http import END, change_pages, exchange

LOOPBACK = KnownHosts("127.0.0.1", (), frozenset({"db1", "db1.example.com"}))
OPEN = KnownHosts("0.0.0.0", (), frozenset({"db1", "db1.example.com"}))


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """Server that still answers after the test."""
    with HttpServer(FakeStatus(), HOST, 0, [change_pages()]) as found:
        yield found
        asking = http.client.HTTPConnection(HOST, found.port)
        asking.request("GET", "/ping")
        assert asking.getresponse().read() == b"pong"
        asking.close()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.fixture
def client() -> FlaskClient:
    pages = [change_pages(), jmx_pages("cassandra", "t", lambda: {"streaming": {"Up": True}})]
    return create_app(FakeStatus(), pages, hosts=LOOPBACK).test_client()


def facts(
    host: str | None, method: str = "GET", path: str = "/health", **more: str
) -> RequestFacts:
    return RequestFacts(method, path, host=host, **more)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8000",
        "10.1.2.3",
        "[::1]:8000",
        "[fe80::1]",
        "localhost:8000",
        "LOCALHOST",
        "agent.localhost",
        "db1",
        "db1.example.com:8000",
        "DB1.example.com.",
        "cassandra-0.cassandra.prod.svc",
        "cassandra-0.cassandra.prod.svc.cluster.local:8000",
        "ip-10-0-0-5.ec2.internal",
        None,
    ],
)
def test_host_addresses_and_own_names_are_accepted(host: str | None) -> None:
    """Kubernetes probes send the pod's address as the host."""
    for method in ("GET", "POST"):
        assert rejection_of(facts(host, method), LOOPBACK) is None


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "127.0.0.1.attacker.example",
        "127-0-0-1.attacker.example:8000",
        "localhost.attacker.example",
        "db1.example.com.attacker.example",
        "svc.attacker.example",
    ],
)
def test_rebound_host_name_is_rejected(host: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        for hosts in (LOOPBACK, OPEN):
            refusal = rejection_of(facts(host, method), hosts)
            assert refusal is not None
            assert refusal.status == 421
            assert "http.allowed.hosts" in refusal.message


def test_public_probes_and_metrics_accept_every_host_name() -> None:
    for path in ("/ping", "/live", "/ready", "/metrics"):
        assert rejection_of(facts("cdc.corp.example", path=path), OPEN) is None
        assert rejection_of(facts("cdc.corp.example", path=path), LOOPBACK) is not None
        assert rejection_of(facts("cdc.corp.example", "POST", path), OPEN) is not None


def test_allowed_hosts_can_be_configured() -> None:
    one = KnownHosts("0.0.0.0", ("cdc.corp.example",), frozenset())
    below = KnownHosts("0.0.0.0", (".corp.example",), frozenset())
    every = KnownHosts("0.0.0.0", ("*",), frozenset())
    bound = KnownHosts("cdc.corp.example", (), frozenset())
    for hosts in (one, below, every, bound):
        assert hosts.includes("CDC.corp.example")
    for hosts in (one, below, bound):
        assert not hosts.includes("corp.example")
        assert not hosts.includes("evilcorp.example")
    assert allowed_host_problems(("a.b", ".a.b", "*", "a")) == []
    for wrong in ("http://a", "a:80", "a/b", "", "*.a"):
        assert len(allowed_host_problems((wrong,))) == 1


@pytest.mark.parametrize(
    "host", ["a b", "a@b", "a/../b", "[::1", "a:b", "a, b", "a\0", "ä.example"]
)
def test_invalid_host_is_rejected(host: str) -> None:
    refusal = rejection_of(facts(host), LOOPBACK)
    assert refusal is not None
    assert refusal.status == 400


def test_cross_site_post_is_rejected(client: FlaskClient) -> None:
    for headers in (
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert client.post("/change", json={}, headers=headers).status_code == 403
    for headers in ({}, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}):
        assert client.post("/change", json={}, headers=headers).text == "done"


@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/live", "/nope"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_cross_site_subresource_is_rejected(client: FlaskClient, path: str, site: str) -> None:
    """Images, scripts and frames of other sites get 403; links to the page work."""
    for destination in ("image", "script", "iframe", "object", "empty", None):
        headers = {"Sec-Fetch-Site": site}
        if destination is not None:
            headers["Sec-Fetch-Dest"] = destination
        for method in ("GET", "HEAD", "OPTIONS"):
            assert client.open(path, method=method, headers=headers).status_code == 403
    own = {"Sec-Fetch-Site": site, "Sec-Fetch-Dest": "document"}
    assert client.get(path, headers=own).status_code == client.get(path).status_code
    assert client.post("/change", json={}, headers=own).status_code == 403


def test_responses_forbid_cross_site_reads_and_frames(client: FlaskClient) -> None:
    for path in ("/health", "/offsets", "/metrics", "/nope", "/metrics/jmx"):
        for method in ("GET", "OPTIONS"):
            answer = client.open(path, method=method, headers={"Origin": "https://a.example"})
            assert not [name for name in answer.headers.keys() if "Access-Control" in name]  # noqa: SIM118
            for name, value in HEADERS.items():
                assert answer.headers[name] == value


def test_request_paths_never_reach_files(client: FlaskClient) -> None:
    for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/page/../../etc/passwd"):
        answer = client.get(path)
        assert answer.status_code in (308, 404)
        assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET http://attacker.example/health HTTP/1.1\r\n" + END + b"\r\n", 400),
        (b"CONNECT attacker.example:443 HTTP/1.1\r\n" + END + b"\r\n", 400),
        (b"TRACE /health HTTP/1.1\r\n" + END + b"\r\n", 405),
        (b"GET /health HTTP/1.1\r\nHost: a.example\r\n" + END + b"\r\n", 400),
        (b"POST /change HTTP/1.1\r\nContent-Length: 99999999\r\n" + END + b"\r\n", 413),
        (b"POST /change HTTP/1.1\r\nContent-Length: -1\r\n" + END + b"\r\n", 400),
        (b"POST /change HTTP/1.1\r\nTransfer-Encoding: gzip\r\n" + END + b"\r\n", 501),
        (b"POST /change HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + END + b"\r\n", 411),
        (b"GET /health HTTP/1.1\r\nX: " + b"a" * 300_000 + b"\r\n" + END + b"\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"X: a\r\n" * 60_000 + END + b"\r\n", 431),
        (b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\n" + END + b"\r\n", 431),
    ],
    ids=lambda value: value[:24].decode() if isinstance(value, bytes) else str(value),
)
def test_invalid_requests_get_an_error_status(
    server: HttpServer, request_bytes: bytes, status: int
) -> None:
    try:
        answer = exchange(server.port, request_bytes)
    except ConnectionError:
        # The server closed the connection before it received all bytes.
        return
    assert answer == b"" or status_of(answer) == status
    assert b"Traceback" not in answer


MIB = 1 << 20
CHUNKED = b"POST /change HTTP/1.1\r\n" + END + b"Transfer-Encoding: chunked\r\n\r\n"


def test_endless_chunks_are_cut_off(server: HttpServer) -> None:
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
    # The server's limit, and the socket buffers of both ends.
    assert sent < 64 * MIB


def test_streamed_body_is_rejected_with_a_remedy(server: HttpServer) -> None:
    """`curl --upload-file -` and clients that do not know the body's length stream it."""
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


def test_server_rejects_rebound_host_name(server: HttpServer) -> None:
    for method in (b"GET /health", b"POST /change"):
        request = method + b" HTTP/1.1\r\nHost: attacker.example:%d\r\n" % server.port
        answer = exchange(server.port, request + b"Connection: close\r\n\r\n")
        assert status_of(answer) == 421
        assert b"a.log" not in answer


@pytest.mark.parametrize(
    "path", [b"/%0d%0aX-Evil:%201", b"/nope?a=%0d%0aX-Evil:%201", b"/\rX-Evil: 1"]
)
def test_request_path_is_never_copied_into_headers(server: HttpServer, path: bytes) -> None:
    answer = exchange(server.port, b"GET " + path + b" HTTP/1.1\r\n" + END + b"\r\n")
    head = answer.partition(b"\r\n\r\n")[0]
    assert b"x-evil" not in head.lower()
    assert status_of(answer) in (400, 404)


def test_other_protocols_are_rejected(server: HttpServer) -> None:
    upgrade = b"Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    answer = exchange(server.port, b"GET /ping HTTP/1.1\r\n" + END + upgrade + b"\r\n")
    assert status_of(answer) == 200
    for hello in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + bytes(600)):
        with socket.create_connection((HOST, server.port)) as client:
            client.sendall(hello)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(65536)
        assert answer == b"" or status_of(answer) in (400, 404, 405, 421, 505)
