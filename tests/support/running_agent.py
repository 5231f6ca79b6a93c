"""A running agent over recorded segments, and the values that it delivered."""

import json
from collections.abc import Mapping

from examples.agent_process import AgentProcess
from tests.support.agent_directory import Site

DEADLINE_S = 120.0


def running(site: Site, changes: Mapping[str, str | None] | None = None) -> AgentProcess:
    path = site.configuration(changes)
    return AgentProcess(["--config", str(path)], site.folder / "agent.log", preferred_port=0)


def is_drained(site: Site) -> bool:
    return not any(site.cdc_raw.glob("*.log"))


def values(site: Site) -> list[str]:
    lines = site.events.read_bytes().splitlines()
    return [json.loads(line)["value"]["after"]["v"]["value"] for line in lines]
