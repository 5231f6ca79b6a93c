"""The command `fleet` against servers that answer like agents."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sidecar.cli.fleet import cells_of, fleet, named_targets, plain_lines
from sidecar.cli.invocation import Invocation
from sidecar.errors import ConfigError
from sidecar.fleet.report import report_of, unreachable
from sidecar.fleet.summary import fleet_of
from sidecar.fleet.target import Target
from tests.support.agents.fake_agents import (
    closed_address,
    fake_agents,
    health,
    health_answer,
    http_answer,
)

TARGET = Target("node-1", "http://node-1:8000")


def run(*arguments: object) -> Result:
    def load(files: list[Path], overrides: list[str]) -> Any:
        raise AssertionError("no configuration is read")

    invocation: Invocation[Any] = Invocation("agent", load, lambda config: [])
    words = [*map(str, arguments), "--timeout", "600"]
    # A group returns the exit code of its command; here the command runs without a group.
    return CliRunner().invoke(fleet, words, obj=invocation, standalone_mode=False)


def run_over(folder: Path, addresses: Sequence[str], *options: object) -> Result:
    """Run the command with a file of these targets."""
    file = folder / "nodes.txt"
    file.write_text("\n".join(addresses))
    return run("--targets", file, *options)


def test_fleet_cells_are_human_readable() -> None:
    conditions = [{"code": "segment_quarantined"}]
    assert cells_of(report_of(TARGET, health("degraded", conditions=conditions))) == (
        "lab/dc1/r1/host-1",
        "degraded",
        "1.5 s",
        "25 %",
        "2.0 h",
        "0",
        "completed",
        "0.2.0",
        "0123456789ab",
        "segment_quarantined",
    )
    assert cells_of(unreachable(TARGET, "Connection refused"))[-1] == "Connection refused"
    assert set(cells_of(report_of(TARGET, {"status": "ok"}))) == {"node-1", "ok", "-"}


def test_fleet_prints_aligned_columns_and_summary_to_pipe() -> None:
    lines = plain_lines(fleet_of([report_of(TARGET, health()), unreachable(TARGET, "away")]))
    assert lines[0].split("  ")[0] == "NODE"
    column = lines[0].index("STATE")
    assert lines[1][column:].startswith("unreachable")
    assert lines[2][column:].startswith("ok")
    assert lines[3] == "2 agents: 1 unreachable, 1 ok."


@pytest.mark.parametrize(
    ("statuses", "code"), [(["ok", "ok"], 0), (["ok", "degraded"], 7), (["ok", "failing"], 8)]
)
def test_fleet_exit_code_follows_worst_agent(
    tmp_path: Path, statuses: list[str], code: int
) -> None:
    with fake_agents(*([health_answer(health(status))] for status in statuses)) as agents:
        found = run_over(tmp_path, [agent.address for agent in agents])
    assert found.return_value == code
    assert len(found.stdout.splitlines()) >= 3


def test_unreachable_agent_is_a_row_of_fleet(tmp_path: Path) -> None:
    with fake_agents([health_answer(health())]) as (agent,):
        found = run_over(tmp_path, [agent.address, closed_address()], "--json")
    assert found.return_value == 8
    document = json.loads(found.stdout)
    assert [each["state"] for each in document["agents"]] == ["unreachable", "ok"]
    assert document["summary"]["text"] == "2 agents: 1 unreachable, 1 ok."


def test_require_same_option_fails_on_differences(tmp_path: Path) -> None:
    answers = [
        [health_answer(health(instance={"version": version, "node_id": version}))]
        for version in ("0.2.0", "0.3.0")
    ]
    with fake_agents(*answers) as agents:
        addresses = [agent.address for agent in agents]
        assert run_over(tmp_path, addresses).return_value == 0
        assert run_over(tmp_path, addresses, "--require-same").return_value == 7


def test_fleet_sends_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-token\n")
    with fake_agents([health_answer(health())]) as (agent,):
        run_over(tmp_path, [agent.address], "--token-file", token)
    assert b"\r\nAuthorization: Bearer secret-token\r\n" in agent.requests[0]


def test_fleet_resolves_dns_name() -> None:
    with fake_agents([health_answer(health())]) as (agent,):
        found = run("--dns", f"127.0.0.1:{agent.port}", "--json")
    assert json.loads(found.stdout)["agents"][0]["target"] == "127.0.0.1 (127.0.0.1)"


def test_fleet_lists_kubernetes_pods(tmp_path: Path) -> None:
    with fake_agents([health_answer(health())]) as (agent,):
        states = ({"phase": "Running", "podIP": "127.0.0.1"}, {"phase": "Pending"})
        items = [
            {"metadata": {"namespace": "lab", "name": f"cassandra-{number}"}, "status": status}
            for number, status in enumerate(states)
        ]
        with fake_agents([http_answer({"items": items})]) as (api,):
            place = ("--kubernetes-api", f"http://{api.address}", "--namespace", "lab")
            found = run("--kubernetes", *place, "--port", agent.port, "--json")
    agents = json.loads(found.stdout)["agents"]
    assert [(each["target"], each["state"]) for each in agents] == [
        ("lab/cassandra-1", "unreachable"),
        ("lab/cassandra-0", "ok"),
    ]


def test_targets_combine_file_and_name_without_duplicates(tmp_path: Path) -> None:
    file = tmp_path / "nodes.txt"
    file.write_text("127.0.0.1:8123\n10.0.0.1")
    found = named_targets(file, "127.0.0.1:8123", 9000)
    assert [target.url for target in found] == ["http://127.0.0.1:8123", "http://10.0.0.1:9000"]
    with pytest.raises(ConfigError, match="No such file"):
        named_targets(tmp_path / "missing", None, 8000)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Select the agents with one of"),
        (("--kubernetes", "--dns", "x"), "Select the agents with one of"),
        (("--targets", "/no/such/file"), "No such file"),
        (("--dns", "https://x"), "--dns: "),
        (("--dns", "x", "--ca-file", "/no/such/file"), "--ca-file: /no/such/file"),
        (("--dns", "x", "--token-file", "/no/such/file"), "--token-file: /no/such/file"),
    ],
)
def test_unusable_fleet_options_are_reported(arguments: tuple[str, ...], reason: str) -> None:
    error = run(*arguments).exception
    assert isinstance(error, ConfigError)
    assert reason in str(error)
