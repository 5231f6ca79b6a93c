"""Agents behind a DNS name."""

import socket
from typing import Any

import pytest

from sidecar.errors import UnavailableError
from sidecar.fleet.dns import resolve_targets

FOUND = [
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.2", 8000)),
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 8000)),
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 8000)),
    (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 8000, 0, 0)),
]


def test_every_address_is_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def resolve(host: str, port: int, **options: Any) -> list[Any]:
        asked.append((host, port))
        return FOUND

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    targets = resolve_targets("cdc.lab.svc:9000", 8000)
    assert asked == [("cdc.lab.svc", 9000)]
    assert [(target.name, target.url) for target in targets] == [
        ("cdc.lab.svc (10.0.0.1)", "http://10.0.0.1:9000"),
        ("cdc.lab.svc (10.0.0.2)", "http://10.0.0.2:9000"),
        ("cdc.lab.svc (2001:db8::1)", "http://[2001:db8::1]:9000"),
    ]


def test_the_default_port() -> None:
    assert "http://127.0.0.1:8123" in [each.url for each in resolve_targets("localhost", 8123)]


def test_a_name_without_an_address_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match=r"no-such-host.invalid has no address"):
        resolve_targets("no-such-host.invalid", 8000)


@pytest.mark.parametrize("name", ["https://host", "http://host/path", "a b", ""])
def test_a_url_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        resolve_targets(name, 8000)
