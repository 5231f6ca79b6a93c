"""Addresses that HTTP is served on, and hosts that it cannot be served on."""

import socket

import pytest

from sidecar.http.address import address_problem, listening_socket, local_url


def test_a_host_with_a_part_that_is_too_long_is_rejected_with_its_property() -> None:
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
def test_all_addresses_are_those_of_both_protocols(host: str) -> None:
    with listening_socket(host, 0) as listener:
        assert accepted_from(listener, "::1") == "::1"
        assert accepted_from(listener, "127.0.0.1") == "::ffff:127.0.0.1"


def test_all_addresses_of_a_machine_without_ipv6_are_those_of_ipv4(
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
def test_commands_reach_an_agent_at_its_own_address(host: str, url: str) -> None:
    assert local_url(host, 8000) == url
