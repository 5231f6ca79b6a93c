"""A GET with bounded time and size."""

import time
from pathlib import Path

import pytest

from sidecar.fleet.request import Access, get
from sidecar.tls.store_file import client_context
from tests.support.agents.fake_agents import closed_address, fake_agents, http_answer
from tests.support.servers.certificates import Authority, server_context
from tests.support.servers.processes import DEADLINE_S


def soon() -> float:
    return time.monotonic() + DEADLINE_S


def test_get_returns_status_and_body() -> None:
    with fake_agents([http_answer({"a": 1}, 503)]) as (agent,):
        answer = get(
            f"http://{agent.address}/health", soon(), Access({"Authorization": "Bearer x"})
        )
    assert (answer.status, answer.body) == (503, b'{"a": 1}')
    request = agent.requests[0].decode()
    assert request.startswith("GET /health HTTP/1.1\r\n")
    assert f"\r\nHost: {agent.address}\r\n" in request
    assert "\r\nAuthorization: Bearer x\r\n" in request


def test_a_chunked_answer_is_read() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    with fake_agents([chunked]) as (agent,):
        assert get(f"http://{agent.address}/", soon()).body == b"{}"


def test_a_redirect_is_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with fake_agents([moved]) as (agent,):
        assert get(f"http://{agent.address}/", soon()).status == 302
        assert len(agent.requests) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3000, "more than"),
    ],
)
def test_invalid_answers_are_errors(answer: bytes, reason: str) -> None:
    with fake_agents([answer]) as (agent,), pytest.raises(OSError, match=reason):
        get(f"http://{agent.address}/", soon(), max_bytes=2048)


def test_closed_port_and_unknown_name_are_errors() -> None:
    with pytest.raises(ConnectionRefusedError):
        get(f"http://{closed_address()}/", soon())
    with pytest.raises(OSError, match="cannot be resolved"):
        get("http://no-such-host.invalid/", soon())


def test_https_request_to_plain_server_fails() -> None:
    with fake_agents([http_answer({})]) as (agent,), pytest.raises(OSError, match="TLS handshake"):
        get(f"https://{agent.address}/", soon())


def test_https_needs_a_trusted_certificate_of_the_host(tmp_path: Path) -> None:
    authority = Authority()
    trusting = client_context(cafile=authority.pem(tmp_path / "ca.pem"))
    tls = server_context(tmp_path, authority.signed())
    with fake_agents([http_answer({"a": 1})], tls=tls) as (agent,):
        url = f"https://{agent.address}/health"
        assert get(url, soon(), Access(tls=trusting)).body == b'{"a": 1}'
        with pytest.raises(OSError, match="certificate is not accepted"):
            get(url, soon())
    other = server_context(tmp_path, authority.signed(host="other.example"))
    with (
        fake_agents([http_answer({})], tls=other) as (agent,),
        pytest.raises(OSError, match="certificate is not accepted: IP address mismatch"),
    ):
        get(f"https://{agent.address}/", soon(), Access(tls=trusting))
