"""Faults of a deployment or a login: one message with a remedy, and an exit code."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mongodb.agent_command import CDC, configuration, mongo_agent
from tests.support.mongodb.server import MongoReplicaSet, User

Changes = dict[str, str | None]
COMMANDS = [("run",), ("plan",)]
ENDS = {"access.denied.action": "exit"}


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address without a server."""
    monkeypatch.setattr("mongo_agent.check.connection_diagnostics._LONGEST_MS", 200)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture(scope="module")
def standalone() -> Iterator[str]:
    with MongoReplicaSet(is_standalone=True) as started:
        yield started.members[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_rejected_login_is_reported(tmp_path: Path, hosts: str, command: tuple[str, ...]) -> None:
    wrong = User("cdc", "open sesame")
    done = mongo_agent(*command, "--config", configuration(tmp_path, hosts, wrong, ENDS))
    assert done.exit_code == 4
    assert "MongoDB rejects the login" in done.errors
    assert "Correct `mongodb.user`, `mongodb.password` and `mongodb.authsource`" in done.errors
    assert "open sesame" not in done.errors
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_report_an_unreachable_server(
    tmp_path: Path, nobody: str, no_server: Changes, command: tuple[str, ...]
) -> None:
    path = configuration(tmp_path, f"rs0/{nobody}", changes=no_server)
    done = mongo_agent(*command, "--config", path)
    assert done.exit_code == 1
    assert "MongoDB does not answer" in done.errors
    assert "`mongodb.hosts`" in done.errors
    assert "Traceback" not in done.errors


@pytest.mark.parametrize(("command", "exit_code"), [("run", 2), ("plan", 2), ("check", 1)])
@pytest.mark.parametrize("prefix", ["rs0/", ""])
def test_standalone_server_error_explains_replica_set_initiation(
    tmp_path: Path, standalone: str, no_server: Changes, prefix: str, command: str, exit_code: int
) -> None:
    path = configuration(tmp_path, f"{prefix}{standalone}", changes=no_server)
    done = mongo_agent(command, "--config", path)
    assert done.exit_code == exit_code, done.output + done.errors
    assert "`--replSet rs0`" in done.output + done.errors
    assert "`rs.initiate()`" in done.output + done.errors


@pytest.mark.parametrize(("command", "exit_code"), [("run", 2), ("plan", 2), ("check", 1)])
def test_replica_set_name_mismatch_is_reported(
    tmp_path: Path, hosts: str, no_server: Changes, command: str, exit_code: int
) -> None:
    path = configuration(tmp_path, hosts.replace("rs0/", "rs7/"), CDC, no_server)
    done = mongo_agent(command, "--config", path)
    assert done.exit_code == exit_code
    assert "is rs0, but the configuration specifies rs7" in done.output + done.errors
