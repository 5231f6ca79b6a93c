"""A running agent that crashes leaves no core file, as that would hold passwords and rows."""

import os
import resource
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.agents.agent_directory import AgentDir
from tests.support.servers.processes import free_port, wait_until

MANY = 1 << 30


def allow_core_files() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (MANY, MANY))


@contextmanager
def started(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=allow_core_files,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def leaves_a_core_file(process: subprocess.Popen[bytes]) -> bool:
    process.send_signal(signal.SIGSEGV)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert os.WIFSIGNALED(status)
    return os.WCOREDUMP(status)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ping") as reply:
            return bool(reply.read() == b"pong")
    except urllib.error.URLError:
        return False


@pytest.mark.parametrize("is_debug", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_crash_of_a_running_agent(tmp_path: Path, *, is_debug: bool) -> None:
    """Only `--debug` allows one, where this machine writes core files at all."""
    folder = tmp_path / "agent_dir"
    folder.mkdir()
    agent_dir, port = AgentDir(folder), free_port()
    configuration = agent_dir.configuration({"http.port": str(port)})
    program = str(Path(sys.executable).with_name("agent"))
    options = ["--debug"] if is_debug else []
    command = [program, *options, "run", "--config", str(configuration)]
    with started(command, tmp_path) as agent, started(["sleep", "600"], tmp_path) as other:
        wait_until(lambda: answers(port), "the agent")
        writes_any = leaves_a_core_file(other)
        assert leaves_a_core_file(agent) == (is_debug and writes_any)
