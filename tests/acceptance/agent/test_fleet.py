"""`agent fleet` with real agents: one healthy, one with a quarantined segment, one dead."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_health import health
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread
from tests.support.agents.fake_agents import closed_address


@dataclass(frozen=True)
class Site:
    """Running agents, and a file with all addresses."""

    targets: Path
    well: AgentThread
    damaged: AgentThread


def started(stack: ExitStack, folder: Path, node_id: str) -> tuple[AgentDir, AgentThread]:
    folder.mkdir()
    agent_dir = AgentDir(folder)
    yaml = folder / "cassandra.yaml"
    yaml.write_text(
        f"cluster_name: lab\ncdc_enabled: true\ncdc_raw_directory: {agent_dir.cdc_raw}\n"
        "cdc_total_space: 100MiB\n"
    )
    path = agent_dir.configuration(
        {"cassandra.config": str(yaml), "node.id": node_id, "cluster.name": None}
    )
    process = AgentThread(["--config", str(path)], folder / "agent.log", 0)
    return agent_dir, stack.enter_context(process)


def code(process: AgentThread) -> tuple[str, set[str]]:
    document = process.document("/health") or {"status": "none", "conditions": []}
    return document["status"], {each["code"] for each in document["conditions"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        targets = folder / "nodes.txt"
        well_dir, well = started(stack, folder / "well", "node-1")
        write_segment(well_dir.cdc_raw, 1, [[payload(1)]])
        damaged_dir, damaged = started(stack, folder / "damaged", "node-2")
        segment = write_segment(damaged_dir.cdc_raw, 1, [[payload(1), payload(2), payload(3)]])
        content = bytearray(segment.read_bytes())
        content[-40] ^= 0xFF
        segment.write_bytes(bytes(content))
        targets.write_text(
            f"# three agents\n{well.url}\n{damaged.url}\n{closed_address()}  # dead\n"
        )
        well.wait_until("delivery", lambda: code(well) == ("ok", set()))
        damaged.wait_until(
            "the quarantine", lambda: code(damaged) == ("degraded", {"segment_quarantined"})
        )
        yield Site(targets, well, damaged)


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def test_fleet_table_lists_the_worst_agent_first(site: Site) -> None:
    done = agent("fleet", "--targets", site.targets)
    heading, dead, damaged, well = rows(done.output)[:4]
    assert (heading[:2], dead[1]) == (["NODE", "STATE"], "unreachable")
    assert dead[-2:] == ["Connection", "refused"]
    assert (damaged[0].partition("/")[0], damaged[1], damaged[-1]) == (
        "lab",
        "degraded",
        "segment_quarantined",
    )
    assert well[1] == "ok"
    assert done.output.splitlines()[-1].startswith("3 agents: 1 unreachable, 1 degraded, 1 ok.")
    assert done.exit_code == 8


def test_fleet_json_contains_the_values_of_health(site: Site) -> None:
    done = agent("fleet", "--targets", site.targets, "--json")
    document: dict[str, Any] = json.loads(done.output)
    dead, damaged, well = document["agents"]
    assert dead["version"] is None
    assert (damaged["node_id"], damaged["quarantined"]) == ("node-2", 1)
    reported = health(site.well)[1]
    for name in ("host", "version", "node_id", "topic_prefix", "cluster"):
        assert well[name] == reported["instance"][name]
    assert well["configuration_fingerprint"] == reported["configuration_fingerprint"]
    assert (well["cdc_raw_limit_bytes"], well["lag_s"], done.exit_code) == (100 << 20, 0, 8)


def test_fleet_exit_code_follows_the_worst_agent(site: Site, tmp_path: Path) -> None:
    targets = tmp_path / "nodes.txt"
    targets.write_text(f"{site.well.url}\n{site.damaged.url}\n")
    assert agent("fleet", "--targets", targets).exit_code == 7
    targets.write_text(f"{site.well.url}\n")
    assert agent("fleet", "--targets", targets).exit_code == 0


def test_fleet_reads_targets_from_the_configuration(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "configured"
    folder.mkdir()
    path = AgentDir(folder).configuration({"fleet.targets.file": str(site.targets)})
    assert agent("fleet", "--config", path).output.splitlines()[-1].startswith("3 agents: ")
