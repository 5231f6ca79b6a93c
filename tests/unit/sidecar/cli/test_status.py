"""The command `status` against a served status."""

import json
from collections.abc import Iterator
from io import StringIO

import pytest
from rich.console import Console

from sidecar.cli.status import EXIT_NO_ANSWER, drawn, lines, parse_status
from sidecar.health.condition import Condition, State
from sidecar.http.server import HttpServer
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import Run, runner
from tests.support.agents.fake_agents import fake_agents
from tests.support.agents.fake_status import HOST, FakeStatus

AWAY = Condition(
    "sink_unavailable",
    State.FAILING,
    "sink",
    "Events are not delivered: no broker answers",
    "Start the broker.",
    "Connection refused",
)


@pytest.fixture
def status() -> FakeStatus:
    return FakeStatus()


@pytest.fixture
def agent(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def port(status: FakeStatus) -> Iterator[int]:
    with HttpServer(status, HOST, 0) as server:
        yield server.port


def test_status_of_healthy_agent_exits_0_with_plain_columns(agent: Run, port: int) -> None:
    shown = agent("status", "--port", port)
    assert (shown.exit_code, shown.errors) == (0, "")
    first, second, *_ = shown.output.splitlines()
    assert first.split() == ["status", "ok"]
    assert second.split(maxsplit=1) == ["message", "All is delivered."]


def test_status_conditions_include_detail_and_next_step(
    agent: Run, port: int, status: FakeStatus
) -> None:
    status.conditions = [AWAY]
    shown = agent("status", "--url", f"http://{HOST}:{port}")
    assert shown.exit_code == 1
    assert "failing: sink_unavailable (sink): Events are not delivered" in shown.output
    assert "  detail: Connection refused\n  next: Start the broker." in shown.output


@pytest.mark.parametrize(("status_word", "colour"), [("ok", "32"), ("failing", "1;31")])
def test_terminal_colours_the_status(status_word: str, colour: str) -> None:
    found = {"status": status_word, "message": "m", "components": {}, "conditions": []}
    console = Console(file=StringIO(), force_terminal=True, color_system="standard")
    console.print(drawn(parse_status("http://localhost", found)))
    assert isinstance(console.file, StringIO)
    assert f"\x1b[{colour}m{status_word}" in console.file.getvalue()


def test_status_json_contains_the_health_document(
    agent: Run, port: int, status: FakeStatus
) -> None:
    status.conditions = [AWAY]
    shown = agent("status", "--json", "--host", HOST, "--port", port)
    document = json.loads(shown.output)
    assert (shown.exit_code, document["exit_code"], document["status"]) == (1, 1, "failing")
    assert document["conditions"][0]["detail"] == "Connection refused"
    assert document["components"]["sink"]["unacknowledged_events"] == 3
    assert document["instance"]["version"] == "1.2.3"


def test_status_reads_address_from_configuration(
    agent: Run, agent_dir: AgentDir, port: int
) -> None:
    configuration = agent_dir.configuration({"http.host": HOST, "http.port": str(port)})
    assert agent("status", "--config", configuration).exit_code == 0


def test_unavailable_agent_has_separate_exit_code(agent: Run, port: int) -> None:
    away = agent("status", "--port", 1)
    assert away.exit_code == EXIT_NO_ANSWER
    assert "No agent answers at http://127.0.0.1:1" in away.errors
    away = agent("status", "--port", 1, "--json")
    assert away.errors == ""
    document = json.loads(away.output)
    assert document["exit_code"] == away.exit_code == EXIT_NO_ANSWER
    assert "No agent answers" in document["error"]


def test_status_url_may_be_host_and_port(agent: Run, port: int) -> None:
    assert agent("status", "--url", f"{HOST}:{port}").exit_code == 0
    assert agent("status", "--url", f"{HOST}:{port}", "--port", port).exit_code == 2
    for mistake in ("ftp://host", "http://host:port", "a host"):
        shown = agent("status", "--url", mistake)
        assert shown.exit_code == 2
        assert f"--url: `{mistake}`: " in shown.errors


def test_server_without_http_counts_as_no_answer(agent: Run) -> None:
    with fake_agents([b"\x04\x00\x00\x00 not HTTP\r\n"]) as (database,):
        shown = agent("status", "--port", database.port)
    assert shown.exit_code == EXIT_NO_ANSWER
    assert "the answer is not HTTP" in shown.errors


def test_status_sizes_and_times_are_human_readable() -> None:
    raw: dict[str, object] = {
        "bytes": 1_059_715,
        "limit_bytes": 1 << 26,
        "segments": {"reading": 1, "blocked": 1},
    }
    kept = {"bytes": 2048, "max_bytes": 1 << 30, "segments": 2, "ranges": 3}
    raw |= {"lag_s": 3725.0, "time_to_full_s": 7200.0}
    components = {"cdc_raw": raw, "quarantine": kept}
    known = {"status": "ok", "message": "m", "conditions": [], "uptime_s": 7200.0}
    report = parse_status("http://a", known | {"components": components})
    text = "\n".join(lines(report))
    assert "1.0 MiB of 64.0 MiB; full in 2.0 h at this growth; segments: 1 reading" in text
    assert "2 segments, 3 ranges; 2.0 KiB of 1.0 GiB" in text
    assert "2.0 h" in text
