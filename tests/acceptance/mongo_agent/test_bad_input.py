"""Every fault that an operator can make: one sentence that names the way out, and an exit code."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mongodb.agent_command import CDC, FINDER, configuration, mongo_agent
from tests.support.mongodb.server import MongoReplicaSet, User

COMMANDS = [("run",), ("plan",)]
ENDS = {"access.denied.action": "exit"}


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address without a server."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize("command", [("run",), (), ("config", "check"), ("check",), ("plan",)])
@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"mongodb.pasword": "x"}, "the nearest one is `mongodb.password`"),
        ({"collection.include.list": "a.(b"}, "is not a regular expression"),
        ({"database.include.list": "a", "database.exclude.list": "b"}, "exclude each other"),
        ({"topic.prefix": None}, "`topic.prefix` must be set"),
    ],
)
def test_a_configuration_that_is_wrong(
    tmp_path: Path, command: tuple[str, ...], changes: dict[str, str | None], part: str
) -> None:
    done = mongo_agent(*command, "--config", configuration(tmp_path, "rs0/h:1", CDC, changes))
    assert (done.exit_code, done.output) == (2, "")
    assert part in done.errors
    assert len(done.errors.splitlines()) == 1
    assert "sesame" not in done.errors


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    path = configuration(tmp_path, "rs0/h:1", changes={"offset.backing.store.dir": "/none/x"})
    for command in (("run",), ("config", "check")):
        done = mongo_agent(*command, "--config", path)
        assert done.exit_code == 2
        assert "/none/x does not exist" in done.errors


def test_no_configuration_at_all() -> None:
    done = mongo_agent("check")
    assert done.exit_code == 2
    assert "--config" in done.errors


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_credentials(tmp_path: Path, hosts: str, command: tuple[str, ...]) -> None:
    wrong = User("cdc", "open sesame")
    done = mongo_agent(*command, "--config", configuration(tmp_path, hosts, wrong, ENDS))
    assert done.exit_code == 4
    assert "MongoDB rejects the login" in done.errors
    assert "Correct `mongodb.user`, `mongodb.password` and `mongodb.authsource`" in done.errors
    assert "open sesame" not in done.errors
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_report_an_unreachable_server(
    tmp_path: Path, nobody: str, command: tuple[str, ...]
) -> None:
    done = mongo_agent(*command, "--config", configuration(tmp_path, f"rs0/{nobody}"))
    assert done.exit_code == 1
    assert "MongoDB does not answer" in done.errors
    assert "`mongodb.hosts`" in done.errors
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("command", [*COMMANDS, ("check",)])
@pytest.mark.parametrize("prefix", ["rs0/", ""])
def test_standalone_error_explains_how_to_make_a_replica_set(
    tmp_path: Path, command: tuple[str, ...], prefix: str
) -> None:
    with MongoReplicaSet(is_standalone=True) as standalone:
        path = configuration(tmp_path, f"{prefix}{standalone.members[0]}")
        done = mongo_agent(*command, "--config", path)
    assert done.exit_code == (1 if command == ("check",) else 2), done.output + done.errors
    assert "`--replSet rs0`" in done.output + done.errors
    assert "`rs.initiate()`" in done.output + done.errors


@pytest.mark.parametrize("command", [*COMMANDS, ("check",)])
def test_the_name_of_another_replica_set(
    tmp_path: Path, hosts: str, command: tuple[str, ...]
) -> None:
    path = configuration(tmp_path, hosts.replace("rs0/", "rs7/"), CDC)
    done = mongo_agent(*command, "--config", path)
    assert done.exit_code == (1 if command == ("check",) else 2)
    assert "is named rs0, but the configuration names rs7" in done.output + done.errors


def test_a_privilege_that_is_missing_while_it_runs(tmp_path: Path, hosts: str) -> None:
    done = mongo_agent("run", "--config", configuration(tmp_path, hosts, FINDER, ENDS))
    assert done.exit_code == 4, done.errors
    assert "The MongoDB user lacks a privilege: not authorized on admin" in done.errors
    assert "Run `mongo-agent check`" in done.errors
    assert "Traceback" not in done.errors
