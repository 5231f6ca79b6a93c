"""A segment that kills the agent at each start is quarantined; others are delivered."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.running_agent import RunningAgent, is_drained, running, values

DEADLY = """
import os, signal
from agent.pipeline import reader
read = reader.OpenSegment.read
def deadly(self, schema, order, **limits):
    if order.name.id == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return read(self, schema, order, **limits)
reader.OpenSegment.read = deadly
from agent.start import main
main()
"""


@pytest.mark.slow
def test_segment_that_kills_the_agent_is_quarantined(agent_dir: AgentDir) -> None:
    for number, value in ((1, b"a"), (2, b"b"), (3, b"c")):
        write_segment(agent_dir.cdc_raw, number, [[payload(number, value)]])
    path = agent_dir.configuration()
    command = [sys.executable, "-c", DEADLY, "--config", str(path)]
    for _ in range(3):
        assert subprocess.run(command, capture_output=True).returncode < 0
    process = _deadly_agent(agent_dir, path)
    with process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0
    # The agent died before it acknowledged the first segment, so each start delivered that segment.
    assert set(values(agent_dir)) == {"a", "c"}
    listed = agent("quarantine", "list", "--config", path).output
    assert "CommitLog-7-2.log" in listed
    assert "died 3 times in a row" in listed
    assert agent("quarantine", "retry", "--all", "--config", path).exit_code == 0
    with running(agent_dir) as healthy:
        healthy.wait_until("the retry", lambda: "b" in values(agent_dir))
        assert healthy.stop() == 0


def _deadly_agent(agent_dir: AgentDir, path: Path) -> RunningAgent:
    process = RunningAgent(["--config", str(path)], agent_dir.folder / "deadly.log", 0)
    process.command[:1] = [sys.executable, "-c", DEADLY]
    return process
