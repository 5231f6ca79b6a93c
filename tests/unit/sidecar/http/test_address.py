"""HTTP listen addresses, and rejected hosts."""

import socket

import pytest

from sidecar.http.address import address_problem, listening_socket, local_url


def test_host_with_overlong_label_is_rejected() -> None:
    problem = address_problem("é" * 300)
    assert problem is not None
    assert problem.startswith("http.host=é")
    assert "each part between dots has 1 to 63 characters. Set http.host to" in problem


def accepted_from(listener: socket.socket, address: str) -> str:
    """The client's address as the server sees it."""
    listener.listen()
    with socket.create_connection((address, listener.getsockname()[1]), timeout=60):
        connection, peer = listener.accept()
        connection.close()
    return str(peer[0])


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["*", "::"])
def test_wildcard_host_accepts_ipv4_and_ipv6(host: str) -> None:
    with listening_socket(host, 0) as listener:
        assert accepted_from(listener, "::1") == "::1"
        assert accepted_from(listener, "127.0.0.1") == "::ffff:127.0.0.1"


def test_wildcard_host_without_ipv6_accepts_ipv4(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with listening_socket("*", 0) as listener:
        assert listener.family == socket.AF_INET
        assert accepted_from(listener, "127.0.0.1") == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("*", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("fd00::1", "http://[fd00::1]:8000"),
    ],
)
def test_local_url_matches_the_listen_host(host: str, url: str) -> None:
    assert local_url(host, 8000) == url
