"""Addresses of agents."""

import socket
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import ConfigError, UnavailableError
from sidecar.fleet.target import Target, parse_target, read_targets, resolve_targets

FOUND = [
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.2", 8000)),
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 8000)),
    (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 8000)),
    (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 8000, 0, 0)),
]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("node-1", "http://node-1:8000"),
        ("node-1:9000", "http://node-1:9000"),
        ("10.0.0.1", "http://10.0.0.1:8000"),
        ("2001:db8::1", "http://[2001:db8::1]:8000"),
        ("[2001:db8::1]:9000", "http://[2001:db8::1]:9000"),
        ("http://node-1", "http://node-1:80"),
        ("https://node-1", "https://node-1:443"),
        ("https://proxy/cdc/node-1/", "https://proxy:443/cdc/node-1"),
        (" node-1 ", "http://node-1:8000"),
    ],
)
def test_an_address_becomes_a_url(text: str, url: str) -> None:
    assert parse_target(text) == Target(text.strip(), url)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ftp://node-1", "the scheme must be"),
        ("file:///etc/passwd", "the scheme must be"),
        ("node-1:port", "Port"),
        ("node-1:99999", "Port"),
        ("node 1", "must be host"),
        (":8000", "must be host"),
        ("http://", "must be host"),
        ("node-1/path", "a path needs a URL"),
        ("http://user:secret@node-1", "no user"),
        ("http://node-1/?x=1", "no user, query"),
        ("http://[::1", "Invalid IPv6"),
    ],
)
def test_unusable_address_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_target(text)


def test_targets_file_allows_comments_and_empty_lines(tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text("\ufeff# all nodes\nnode-1 # the first\n\nnode-2:9000\nnode-1:8000\n")
    assert [target.url for target in read_targets(file)] == [
        "http://node-1:8000",
        "http://node-2:9000",
    ]


def test_every_invalid_target_is_reported_with_line(tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text("a\nftp://b\nc d\n")
    with pytest.raises(ConfigError) as error:
        read_targets(file)
    assert [problem.partition(":")[0] for problem in error.value.problems] == [
        f"{file}, line 2",
        f"{file}, line 3",
    ]


def test_unusable_targets_file_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text("# nothing\n")
    with pytest.raises(ConfigError, match="contains no agent address"):
        read_targets(file)
    with pytest.raises(ConfigError, match="No such file"):
        read_targets(tmp_path / "missing")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_targets(file)


def test_every_resolved_address_is_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_resolved_targets_use_the_default_port() -> None:
    assert "http://127.0.0.1:8123" in [each.url for each in resolve_targets("localhost", 8123)]


def test_unresolvable_name_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match=r"no-such-host.invalid has no address"):
        resolve_targets("no-such-host.invalid", 8000)


@pytest.mark.parametrize("name", ["https://host", "http://host/path", "a b", ""])
def test_dns_name_rejects_urls_and_paths(name: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        resolve_targets(name, 8000)
