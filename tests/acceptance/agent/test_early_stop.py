"""SIGTERM while the agent still imports its modules."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.early_stop_program import PROGRAM


def interrupted(
    module: str, *arguments: str | Path, signals: int = 1
) -> subprocess.CompletedProcess[str]:
    """Run the command `agent`, which receives SIGTERM when it starts to import a module."""
    words = [sys.executable, "-c", PROGRAM, module, str(signals), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


# The command line itself, the configuration that it imports, and modules that only `agent run`
# imports.
MOMENTS = [
    ("agent.cli", ["run"]),
    pytest.param("agent.config", [], marks=pytest.mark.slow),
    pytest.param("agent.service", ["run"], marks=pytest.mark.slow),
    ("agent.pipeline", []),
]


@pytest.mark.parametrize(("module", "command"), MOMENTS)
def test_sigterm_during_imports_stops_the_agent_cleanly(
    agent_dir: AgentDir, module: str, command: list[str]
) -> None:
    segment = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    done = interrupted(module, *command, "--config", agent_dir.configuration())
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "stopped before the service started" in done.stderr
    assert segment.exists()
    assert not agent_dir.events.exists()
    assert not list(agent_dir.offsets.iterdir())


def test_interrupted_agent_still_reports_an_invalid_configuration(agent_dir: AgentDir) -> None:
    done = interrupted("agent.cli", "--config", agent_dir.configuration({"topic.prefix": None}))
    assert done.returncode == 2
    assert "topic.prefix" in done.stderr


def test_sigterm_kills_other_commands(agent_dir: AgentDir) -> None:
    """A partial dump must not look complete."""
    segment = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    done = interrupted("agent.cli", "dump", segment, "--schema", agent_dir.schema)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")


def test_second_sigterm_kills_the_starting_agent(agent_dir: AgentDir) -> None:
    done = interrupted("agent.cli", "--config", agent_dir.configuration(), signals=2)
    assert done.returncode == -signal.SIGTERM
