"""A running agent that publishes nothing and reads another directory."""

import json
import urllib.error
import urllib.request
from pathlib import Path

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_health import health
from tests.support.agents.agent_thread import AgentThread


def codes(process: AgentThread) -> set[str]:
    return {each["code"] for each in health(process)[1]["conditions"]}


def wrong_site(tmp_path: Path) -> tuple[AgentDir, Path]:
    """Lists that match nothing, and a node that uses another directory."""
    agent_dir = AgentDir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    yaml = tmp_path / "cassandra.yaml"
    yaml.write_text(f"cdc_enabled: true\ncdc_raw_directory: {other}\n")
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    path = agent_dir.configuration(
        {
            "cassandra.config": str(yaml),
            "table.include.list": "ks.orders",
            "field.exclude.list": "ks.t.secret",
        }
    )
    return agent_dir, path


def test_an_agent_that_publishes_nothing_is_degraded_says_why_and_names_it_at_its_end(
    tmp_path: Path,
) -> None:
    agent_dir, path = wrong_site(tmp_path)
    expected = {"cdc_raw_directory_differs", "no_table_published", "list_entry_unmatched"}
    log = tmp_path / "agent.log"
    with AgentThread(["--config", str(path)], log, 0) as process:
        process.wait_until("the conditions", lambda: codes(process) == expected)
        code, document = health(process)
        assert (code, document["status"]) == (503, "degraded")
        with urllib.request.urlopen(f"{process.url}/ready") as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{process.url}/metrics") as answer:
            metrics = answer.read().decode()
        assert 'cdc_status{status="degraded"} 1.0' in metrics
        assert "cdc_published_tables 0.0" in metrics
        for each in expected:
            assert f'cdc_condition{{code="{each}",status="degraded"}} 1.0' in metrics
        process.wait_until("the log", lambda: all(each in log.read_text() for each in expected))
        with urllib.request.urlopen(f"{process.url}/page.json") as answer:
            page = json.load(answer)
        assert page["state"] == "degraded"
        assert page["message"] == document["message"]
        assert page["conditions"] == document["conditions"]
        assert process.stop() == 0
    last = [line for line in log.read_text().splitlines() if "WARNING" in line][-3:]
    assert all("the agent stops and a condition still exists" in line for line in last)
    messages = " ".join(each["message"] for each in document["conditions"])
    assert (
        f"The node uses {tmp_path / 'other'} and the agent reads {agent_dir.cdc_raw}." in messages
    )
    assert "field.exclude.list: ks.t.secret: there is no such column" in messages
    assert "table.include.list: ks.orders: it matches no table" in messages
