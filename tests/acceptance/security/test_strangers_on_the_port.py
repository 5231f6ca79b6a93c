"""Another program listens at the agent's address, and the command line connects to it."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.cli import agent_client
from sidecar.http import address as kernel
from sidecar.http.address import listeners
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import Run, runner
from tests.support.agents.fake_agents import fake_agents, health, http_answer

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eabc\r"
COMMANDS = [
    ("agent", "status"),
    ("agent", "snapshot", "status"),
    ("agent", "snapshot", "start", "shop.orders"),
    ("agent", "snapshot", "stop", "shop.orders"),
    ("agent", "snapshot", "stop", "--all"),
    ("mongo_agent", "status"),
    ("mongo_agent", "snapshot", "status"),
    ("mongo_agent", "snapshot", "start", "shop.orders"),
    ("mongo_agent", "snapshot", "pause"),
]


@pytest.fixture
def command_line(capsys: pytest.CaptureFixture[str]) -> Run:
    """The first argument is the program."""
    return lambda program, *arguments: runner(capsys, program)(*arguments)


@pytest.fixture
def configured(agent_dir: AgentDir, tmp_path: Path) -> Callable[[int], Path]:
    """Configuration with a token, for an agent at a port."""
    token = tmp_path / "token"
    token.write_text("s3cret\n")

    def at(port: int) -> Path:
        settings = {"http.port": str(port), "http.token.file": str(token)}
        return agent_dir.configuration(settings)

    return at


@pytest.fixture
def of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports another owner of each socket."""
    found = kernel.Listener("1", os.geteuid() + 1)
    monkeypatch.setattr("sidecar.fleet.request.listeners", lambda *ports: [found])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://%s/\r\nContent-Length: 0\r\n\r\n", "HTTP 302"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (5 << 20), "more than 4096 KiB"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000, "not an agent"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[],{}" * 400_000, "not an agent"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "not an agent"),
        (b"220 mail.example ESMTP\r\n", "not HTTP"),
        (b"", "without an answer"),
    ],
    ids=["redirect", "endless", "deep", "many", "html", "smtp", "nothing"],
)
def test_foreign_answer_is_reported(
    command_line: Run, command: tuple[str, ...], answer: bytes, message: str
) -> None:
    """The command line does not follow the redirect."""
    with (
        fake_agents([b""]) as (target,),
        fake_agents([answer.replace(b"%s", target.address.encode())]) as (stranger,),
    ):
        shown = command_line(*command, "--port", stranger.port)
        assert target.requests == []
    assert shown.exit_code in (1, 6)
    assert message in shown.errors
    assert "Traceback" not in shown.errors
    assert "Unexpected error" not in shown.errors


@pytest.mark.parametrize("command", COMMANDS[2:4], ids=" ".join)
@pytest.mark.usefixtures("of_another_user")
def test_foreign_listener_of_another_user_gets_no_request(
    command_line: Run, configured: Callable[[int], Path], command: tuple[str, ...]
) -> None:
    with fake_agents([http_answer({"accepted": True, "message": "thanks"})]) as (stranger,):
        shown = command_line(*command, "--config", configured(stranger.port))
    assert all(request == b"" for request in stranger.requests)
    assert shown.exit_code == 1
    assert "Nothing was sent" in shown.errors
    assert f"sport = :{stranger.port}" in shown.errors


@pytest.mark.parametrize("command", COMMANDS[2:4], ids=" ".join)
def test_agent_of_the_same_user_gets_the_token(
    command_line: Run, configured: Callable[[int], Path], command: tuple[str, ...]
) -> None:
    with fake_agents([http_answer({"accepted": True, "message": "done"})]) as (own,):
        shown = command_line(*command, "--config", configured(own.port))
    assert shown.exit_code == 0
    assert b"Authorization: Bearer s3cret\r\n" in own.requests[0]


def test_port_owner_is_read_from_the_kernel() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert {each.uid for each in listeners(port)} == {os.geteuid()}
        with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0]:
            assert len(listeners(port, client.getsockname()[1])) == 2
    assert listeners(port) == []


def test_unencrypted_token_to_another_host_is_a_warning(
    command_line: Run, configured: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = type("Answer", (), {"status": 200, "body": b'{"accepted": true, "message": "done"}'})
    monkeypatch.setattr(agent_client, "get", lambda *arguments: answer)
    config = configured(1)
    start = ("agent", "snapshot", "start", "shop.orders", "--config", config, "--url")
    assert "without encryption" in command_line(*start, "http://db7:8000").errors
    for url in ("https://db7:8000", "http://127.0.0.1:8000", "http://localhost:8000"):
        assert "without encryption" not in command_line(*start, url).errors


def hostile(value: Any) -> Any:
    """The same document with escapes in each text and name."""
    match value:
        case str():
            return value + ESCAPES
        case dict():
            return {name: hostile(each) for name, each in value.items()}
        case list():
            return [hostile(each) for each in value]
        case _:
            return value


TABLE = {"table": "a.b", "state": "copying", "rows": 1, "percent": 5.0}
STREAM = {
    "collections": [{"collection": "a.b", "state": "copying", "documents": 1, "note": "n"}],
    "is_running": False,
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "status": health(
        conditions=[
            {"code": "c", "status": "failing", "component": "c", "message": "m", "remedy": "r"}
        ]
    ),
    "snapshot": {
        "tables": [TABLE],
        "streams": {"rs": STREAM},
        "waiting": "a",
        "accepted": True,
        "message": "done",
    },
}


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["plain", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_terminal_output_excludes_escapes_of_a_foreign_server(
    command_line: Run, command: tuple[str, ...], options: tuple[str, ...]
) -> None:
    document = hostile(DOCUMENTS[command[1]])
    with fake_agents([http_answer(document)]) as (stranger,):
        shown = command_line(*command, *options, "--port", stranger.port)
    for text in (shown.output, shown.errors):
        assert [each for each in text if not each.isprintable() and each != "\n"] == []


def other_values() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    return plain | st.lists(plain, max_size=2) | st.dictionaries(st.text(max_size=3), plain)


@given(
    command=st.sampled_from(COMMANDS),
    name=st.sampled_from(
        ["status", "message", "conditions", "components", "tables", "streams", "waiting"]
    ),
    value=other_values(),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_unexpected_document_values_cause_no_traceback(
    command_line: Run, command: tuple[str, ...], name: str, value: Any
) -> None:
    document = json.dumps({**DOCUMENTS[command[1]], name: value}).encode()
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + document
    with fake_agents([answer]) as (stranger,):
        shown = command_line(*command, "--port", stranger.port)
    assert "Traceback" not in shown.errors
    assert "Unexpected error" not in shown.errors
