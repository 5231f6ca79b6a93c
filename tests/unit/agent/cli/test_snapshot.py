"""`agent snapshot` against an agent that requires a token."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.snapshot.status import snapshot_pages
from sidecar.http.server import HttpServer
from tests.support.agents.agent_command import Outcome
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent
from tests.support.agents.fake_status import HOST, FakeStatus

ITS_ANSWER = "uses schema.file without a node"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("t-1\n")
    return file


@pytest.fixture
def port(token_file: Path) -> Iterator[int]:
    pages = snapshot_pages(lambda: None)
    with HttpServer(FakeStatus(), HOST, 0, [pages], token_file) as server:
        yield server.port


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_changing_request_needs_the_token(
    agent_dir: AgentDir, port: int, token_file: Path, verb: str
) -> None:
    def ask(file: Path | None) -> Outcome:
        configuration = agent_dir.configuration(
            {
                "http.host": HOST,
                "http.port": str(port),
                "http.token.file": None if file is None else str(file),
            }
        )
        return agent("snapshot", verb, "ks.t", "--config", configuration)

    refused = ask(None)
    assert refused.exit_code != 0
    assert "needs the header `Authorization: Bearer" in refused.errors
    assert ITS_ANSWER in ask(token_file).errors
    token_file.write_text("t-2\n")
    assert ITS_ANSWER in ask(token_file).errors


def test_snapshot_status_accepts_url_or_host_without_token(port: int) -> None:
    for address in (("--url", f"http://{HOST}:{port}"), ("--host", HOST, "--port", str(port))):
        shown = agent("snapshot", "status", *address, "--json")
        assert (shown.exit_code, json.loads(shown.output)) == (0, {"tables": []})


def test_url_option_excludes_host_and_port(port: int) -> None:
    shown = agent("snapshot", "status", "--url", f"http://{HOST}:{port}", "--port", str(port))
    assert shown.exit_code == 2
    assert "Use either --url, or --host and --port." in shown.errors
