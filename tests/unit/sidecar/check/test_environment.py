"""Checks of the environment: address, token, transform, file, quarantine, registry."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sidecar.check.check import Finding, Level
from sidecar.check.environment import (
    check_quarantine,
    check_sink,
    check_token,
    check_tracing,
    check_transform,
)
from sidecar.check.listener import check_address, check_host
from sidecar.check.schema_registry import Registries, check_registry, registry_text
from sidecar.config.settings import SidecarProperties
from sidecar.errors import ConfigError
from sidecar.files.locks import DirectoryLock, lock_holder
from sidecar.properties.loading import load
from sidecar.schema_registry.settings import RegistrySettings
from sidecar.sinks.file import FileSink
from tests.support.agents.fake_agents import closed_address, fake_agents, http_answer
from tests.support.servers.processes import wait_until
from tests.support.sinks.fake_registry import FakeRegistry

pytestmark = pytest.mark.servers


def properties(folder: Path, **changes: object) -> SidecarProperties:
    settings: dict[str, object] = {"sink": "stdout", "offset.backing.store.dir": folder}
    settings |= {name.replace("__", "."): value for name, value in changes.items()}
    file = folder / "cdc.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return load(SidecarProperties, [file]).properties


def only(found: Iterator[Finding]) -> tuple[Level, str, str]:
    (finding,) = found
    assert bool(finding.remedy) is (finding.level is not Level.OK)
    return finding.level, finding.code, finding.message


TOKEN = b"open sesame"
HELLO = b"HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\nhello"
BUILD = http_answer({"service_name": "cdc-sidecar-cassandra", "version": "0.1.0"})
HOLDER = """
import sys
from pathlib import Path
from sidecar.files.locks import DirectoryLock
with DirectoryLock(Path(sys.argv[1])):
    sys.stdin.read()
"""


def test_free_http_address_is_ok(tmp_path: Path) -> None:
    chosen = properties(tmp_path, http__host="127.0.0.1", http__port=0)
    assert only(check_address(chosen))[:2] == (Level.OK, "http_address_free")
    assert list(check_host(chosen)) == []


def test_http_address_of_another_machine_is_a_fault(tmp_path: Path) -> None:
    chosen = properties(tmp_path, http__host="10.255.255.1")
    for found in (check_address(chosen), check_host(chosen)):
        level, code, message = only(found)
        assert (level, code) == (Level.FAULT, "http_address_unusable")
        assert "http.host=10.255.255.1 is not an address of this machine" in message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (HELLO, "another program listens there"),
        (BUILD, "cdc-sidecar-cassandra 0.1.0 answers there"),
    ],
    ids=["another program", "an agent of other directories"],
)
def test_http_address_of_another_process_is_a_fault(
    tmp_path: Path, answer: bytes, message: str
) -> None:
    with fake_agents([answer]) as (other,):
        level, code, shown = only(check_address(properties(tmp_path, http__port=other.port)))
    assert (level, code) == (Level.FAULT, "http_address_in_use")
    assert f"The agent cannot serve HTTP on {other.address}: Address already in use." in shown
    assert message in shown


def test_http_address_of_own_running_agent_is_ok(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path), fake_agents([BUILD]) as (own,):
        level, code, message = only(check_address(properties(tmp_path, http__port=own.port)))
    assert (level, code) == (Level.OK, "http_address_own")
    assert f"(process {os.getpid()})" in message


def test_own_running_agent_does_not_excuse_foreign_http_address(
    tmp_path: Path,
) -> None:
    """The configured port changed after the agent had started."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with (
        fake_agents([HELLO]) as (other,),
        subprocess.Popen(command, stdin=subprocess.PIPE) as holder,
    ):
        wait_until(lambda: lock_holder(tmp_path) == holder.pid, "the lock")
        level, code, _ = only(check_address(properties(tmp_path, http__port=other.port)))
        holder.kill()
    assert (level, code) == (Level.FAULT, "http_address_in_use")


@pytest.mark.parametrize(
    ("content", "mode", "level", "code"),
    [
        (None, 0o600, Level.FAULT, "http_token_unusable"),
        (b" \n", 0o600, Level.FAULT, "http_token_unusable"),
        (b"\xff\xfe", 0o600, Level.FAULT, "http_token_unusable"),
        (TOKEN, 0o644, Level.WARNING, "http_token_readable_by_others"),
        (TOKEN, 0o400, Level.OK, "http_token_file_ok"),
    ],
    ids=["missing", "empty", "binary", "open", "closed"],
)
def test_unusable_or_readable_token_file_is_reported(
    tmp_path: Path, content: bytes | None, mode: int, level: Level, code: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    found = only(check_token(properties(tmp_path, http__token__file=file)))
    assert found[:2] == (level, code)
    assert "open sesame" not in found[2]


def test_remedy_command_fixes_mode_of_token_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(TOKEN)
    file.chmod(0o644)
    chosen = properties(tmp_path, http__token__file=file)
    (finding,) = check_token(chosen)
    command, mode, path = finding.remedy.strip("`").split()
    assert (command, path) == ("chmod", str(file))
    file.chmod(int(mode, 8))
    assert only(check_token(chosen))[0] is Level.OK


@pytest.mark.parametrize(
    ("name", "level"),
    [("nomodule:fn", Level.FAULT), ("os:nofunction", Level.FAULT), ("os:fspath", Level.OK)],
)
def test_unusable_transform_is_a_fault(tmp_path: Path, name: str, level: Level) -> None:
    assert only(check_transform(properties(tmp_path, event__transform=name)))[0] is level
    assert list(check_transform(properties(tmp_path))) == []


def test_unusable_tracing_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(check_tracing(False)) == []

    def refuse(*arguments: object) -> None:
        raise ConfigError("`tracing.enabled=true` needs the package opentelemetry.")

    monkeypatch.setattr("sidecar.check.environment.create_tracing", refuse)
    assert only(check_tracing(True))[:2] == (Level.FAULT, "tracing_unusable")


@pytest.mark.parametrize("kind", ["directory", "pipe", "denied", "missing", "file"])
def test_unusable_sink_file_is_a_fault(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reports the same error as the sink that opens the file."""
    path = tmp_path / "events.ndjson"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "file":
            path.write_bytes(b"{}\n")
        case "denied":
            path.write_bytes(b"{}\n")
            # Tests may run as root, to which file modes do not apply.
            monkeypatch.setattr("os.access", lambda *arguments, **named: False)
    chosen = properties(tmp_path, sink="file", file__path=path)
    before = sorted(tmp_path.iterdir())
    level, code, message = only(check_sink(chosen))
    assert sorted(tmp_path.iterdir()) == before
    if kind in ("missing", "file"):
        assert level is Level.OK
        return
    assert (level, code) == (Level.FAULT, "sink_file_unusable")
    if kind == "directory":
        with pytest.raises(Exception, match="cannot be written") as raised:
            FileSink(path).open()
        assert str(raised.value) == message


@pytest.mark.parametrize(
    ("max_bytes", "used_bytes", "level"),
    [(0, 0, Level.WARNING), (100, 90, Level.WARNING), (100, 89, Level.OK)],
)
def test_missing_quarantine_space_is_a_warning(
    max_bytes: int, used_bytes: int, level: Level
) -> None:
    quarantine: Any = SimpleNamespace(
        directory=Path("/moved/error"), max_bytes=max_bytes, size_bytes=lambda: used_bytes
    )
    found = only(check_quarantine(quarantine))
    assert found[0] is level
    assert ("quarantine.max.bytes=0" in found[2]) is (not max_bytes)


def registry(url: str) -> Registries:
    settings = RegistrySettings(urls=(url,), timeout_s=60.0)
    return {"key": settings, "value": settings}


def test_registry_is_queried_once_without_registering_a_schema() -> None:
    with FakeRegistry() as server:
        found = only(check_registry(registry(server.url), "shop-value"))
        assert found[:2] == (Level.OK, "schema_registry_answers")
        assert [(method, path) for method, path, _ in server.requests] == [
            ("GET", "/subjects/shop-value/versions/latest")
        ]
        assert server.schemas == []
        assert server.url in registry_text(registry(server.url))


@pytest.mark.parametrize("status", [401, 403])
def test_registry_access_denied_is_a_fault(status: int) -> None:
    with FakeRegistry() as server:
        server.mood = lambda method, subject: (status, {"message": "who are you?"})
        level, code, message = only(check_registry(registry(server.url), "shop-value"))
    assert (level, code) == (Level.FAULT, "schema_registry_access_denied")
    assert f"answers {status}: who are you?" in message


def test_unavailable_or_foreign_registry_is_a_fault() -> None:
    with fake_agents([http_answer("<html>", 404)]) as (other,):
        found = only(check_registry(registry(f"http://{other.address}"), "shop-value"))
        assert found[:2] == (Level.FAULT, "schema_registry_unavailable")
        assert "is not a schema registry" in found[2]
    found = only(check_registry(registry(f"http://{closed_address()}"), "shop-value"))
    assert found[:2] == (Level.FAULT, "schema_registry_unavailable")
    assert "does not answer" in found[2]
    assert registry_text({}) == ""
