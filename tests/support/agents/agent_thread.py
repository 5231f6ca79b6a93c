"""A running agent as a thread of the test, a second faster than a process, asked over HTTP too."""

import logging
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self, cast

from agent.cli.entry import start_problems
from agent.config.loader import AgentConfig, load_config
from agent.service import AgentService, create_service
from sidecar.errors import ConfigError
from sidecar.logs import JsonFormatter, TextFormatter
from sidecar.process.lifecycle import Stop, exit_code
from sidecar.properties.secrets import hiding
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.running_agent import RunningAgent, is_drained
from tests.support.servers.processes import wait_until


class AgentThread(RunningAgent):
    """`arguments` are pairs of `--config FILE` and `--set NAME=VALUE`. Leaving the block abandons
    deliveries; that nothing is lost by a kill needs an `AgentProcess`."""

    def __enter__(self) -> Self:
        self._process = cast("subprocess.Popen[bytes]", _Thread(self.command[1:], self.log_file))
        return self


class _Stop(Stop):
    def request_at_once(self) -> None:
        self._timeout_s = 0.0
        self.request()


class _Thread:
    """What `AgentProcess` uses of a process."""

    def __init__(self, arguments: list[str], log_file: Path) -> None:
        pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
        self._files = [Path(value) for name, value in pairs if name == "--config"]
        self._overrides = [value for name, value in pairs if name == "--set"]
        self._log_file = log_file
        self._stop = _Stop(shutdown_timeout_ms=60_000)
        self._thread = threading.Thread(target=self._run, name="agent", daemon=True)
        self.returncode: int | None = None
        self._thread.start()

    def poll(self) -> int | None:
        return None if self._thread.is_alive() else self.returncode

    def kill(self) -> None:
        self._stop.request_at_once()

    def send_signal(self, number: int) -> None:
        self._stop.request()

    def wait(self, timeout_s: float = 0) -> int:
        wait_until(lambda: not self._thread.is_alive(), "the end of the agent's thread")
        self._stop.close()
        assert self.returncode is not None
        return self.returncode

    def _run(self) -> None:
        root = logging.getLogger()
        level = root.level
        with self._log_file.open("w") as stream:
            handler = logging.StreamHandler(stream)
            root.addHandler(handler)
            try:
                self.returncode = exit_code(lambda: self._service(handler).run(self._stop))
            finally:
                root.removeHandler(handler)
                root.setLevel(level)

    def _service(self, handler: logging.Handler) -> AgentService:
        config = load_config(self._files, self._overrides)
        problems = start_problems(config)
        if problems:
            raise ConfigError(*problems)
        _set_log(handler, config)
        return create_service(config)


def _set_log(handler: logging.Handler, config: AgentConfig) -> None:
    properties = config.properties
    is_json = properties.log_format == "json"
    handler.setFormatter((JsonFormatter if is_json else TextFormatter)(hiding(config.loaded)))
    logging.getLogger().setLevel(properties.log_level.upper())
    for sentence in config.warnings:
        logging.getLogger("agent").warning(sentence)


def running(agent_dir: AgentDir, changes: Mapping[str, str | None] | None = None) -> AgentThread:
    """As `running_agent.running`, in a thread."""
    path = agent_dir.configuration(changes)
    return AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", preferred_port=0)


def delivered(agent_dir: AgentDir, changes: Mapping[str, str | None]) -> str:
    """Runs until everything is delivered; returns the log."""
    with running(agent_dir, changes) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0
    return (agent_dir.folder / "agent.log").read_text()
