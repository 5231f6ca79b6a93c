"""The events that a run with given properties delivers."""

from collections.abc import Mapping

from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import DEADLINE_S, is_drained


def delivered(agent_dir: AgentDir, changes: Mapping[str, str | None]) -> str:
    """Runs until everything is delivered; returns the log."""
    with running(agent_dir, changes) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir), DEADLINE_S)
        assert process.stop() == 0
    return (agent_dir.folder / "agent.log").read_text()
