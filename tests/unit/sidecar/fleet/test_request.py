"""One bounded GET."""

import time

import pytest

from sidecar.fleet.request import Access, get
from tests.support.fake_agents import closed_address, fake_agents, http_answer

DEADLINE_S = 120.0


def soon() -> float:
    return time.monotonic() + DEADLINE_S


def test_an_answer_has_status_and_body() -> None:
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
def test_other_answers_are_errors(answer: bytes, reason: str) -> None:
    with fake_agents([answer]) as (agent,), pytest.raises(OSError, match=reason):
        get(f"http://{agent.address}/", soon(), max_bytes=2048)


def test_a_server_without_an_answer_is_left_at_the_deadline() -> None:
    with fake_agents([None]) as (agent,), pytest.raises(TimeoutError):
        get(f"http://{agent.address}/", time.monotonic() + 0.05)


def test_a_closed_port_and_an_unknown_name_are_errors() -> None:
    with pytest.raises(ConnectionRefusedError):
        get(f"http://{closed_address()}/", soon())
    with pytest.raises(OSError, match="cannot be resolved"):
        get("http://no-such-host.invalid/", soon())


def test_a_plain_server_is_no_https_server() -> None:
    with fake_agents([http_answer({})]) as (agent,), pytest.raises(OSError, match="TLS handshake"):
        get(f"https://{agent.address}/", soon())
