"""SIGTERM while the agent still imports its modules."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agents.early_stop_program import PROGRAM
from tests.support.mongodb.agent_command import configuration

LONG = pytest.mark.slow
MODULES = [
    pytest.param("mongo_agent.cli", marks=LONG),
    "mongo_agent.config",
    pytest.param("mongo_agent.service", marks=LONG),
]


@pytest.mark.parametrize("module", MODULES)
def test_sigterm_during_imports_stops_the_agent_cleanly(tmp_path: Path, module: str) -> None:
    program = PROGRAM.replace("from agent import start", "from mongo_agent import start")
    path = configuration(tmp_path, "rs0/127.0.0.1:1")
    done = subprocess.run(
        [sys.executable, "-c", program, module, "1", "--config", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "stopped before the service started" in done.stderr
    assert not list((tmp_path / "offsets").iterdir())
