"""A running agent over recorded segments, and the values that it delivered."""

import json
from collections.abc import Callable, Mapping

from examples.agent_process import AgentProcess
from tests.support.agents.agent_directory import AgentDir
from tests.support.servers.processes import DEADLINE_S as DEADLINE_S


class RunningAgent(AgentProcess):
    """Waits for minutes unless told otherwise."""

    def wait_until(
        self,
        what: str,
        is_reached: Callable[[], bool],
        deadline_s: float = DEADLINE_S,
        show: Callable[[], None] = lambda: None,
    ) -> None:
        super().wait_until(what, is_reached, deadline_s, show)


def running(agent_dir: AgentDir, changes: Mapping[str, str | None] | None = None) -> RunningAgent:
    path = agent_dir.configuration(changes)
    return RunningAgent(["--config", str(path)], agent_dir.folder / "agent.log", preferred_port=0)


def is_drained(agent_dir: AgentDir) -> bool:
    return not any(agent_dir.cdc_raw.glob("*.log"))


def values(agent_dir: AgentDir) -> list[str]:
    lines = agent_dir.events.read_bytes().splitlines()
    return [json.loads(line)["value"]["after"]["v"]["value"] for line in lines]
