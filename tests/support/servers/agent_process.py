"""An agent as a process of its own, started, killed and asked over HTTP."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.servers.errors import ServerFailedError
from tests.support.servers.processes import DEADLINE_S, ServerProcess, free_port, wait_until

_ASK_TIMEOUT_S = 60


class AgentProcess:
    """One process after the other over the same directory and configuration."""

    def __init__(
        self,
        program: str,
        directory: Path,
        properties: Mapping[str, object],
        arguments: Sequence[str] = ("run",),
    ) -> None:
        """`program` is the command beside Python, or its absolute path. Properties of HTTP are
        added."""
        directory.mkdir(parents=True, exist_ok=True)
        self._port = free_port()
        self._configuration = directory / "agent.properties"
        lines = {"http.host": "127.0.0.1", "http.port": self._port, **properties}
        # A backslash of a value is written twice in such a file.
        texts = {name: str(value).replace("\\", "\\\\") for name, value in lines.items()}
        self._configuration.write_text("".join(f"{k}={v}\n" for k, v in texts.items()))
        self._program = Path(sys.executable).parent / program
        self._arguments = arguments
        self._process = ServerProcess(program, ["unset"], directory / "agent.log")

    def __enter__(self) -> Self:
        """Starts nothing; what still runs behind the block is killed."""
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    @property
    def exit_status(self) -> int | None:
        """Of the last process; None while it runs."""
        return self._process.exit_status

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def configuration(self) -> Path:
        return self._configuration

    def launch(self, *overrides: str) -> None:
        """Starts a process, with `name=value` over its configuration, and does not wait for it."""
        sets = [part for override in overrides for part in ("--set", override)]
        command = [str(self._program), *self._arguments, "--config", str(self._configuration)]
        self._process.command = [*command, *sets]
        self._process.start()

    def kill(self) -> None:
        """SIGKILL."""
        self.require_running()
        self._process.kill()

    def stop(self) -> None:
        """SIGTERM; raises when it does not end by itself with exit code 0."""
        self.require_running()
        status = self._process.terminate()
        if status != 0:
            raise ServerFailedError(f"The agent stopped with {status}.\n{self.log_tail()}")

    def wait_for_end(self, deadline_s: float = DEADLINE_S) -> int:
        """Until it ends by itself; returns the exit status."""
        return self._process.wait()

    def end(self) -> None:
        """Kills what still runs."""
        if self.is_running:
            self._process.kill()

    def require_running(self) -> None:
        """Raises when it has ended without being asked to."""
        if not self.is_running:
            status = self._process.exit_status
            raise ServerFailedError(f"The agent ended with {status}.\n{self.log_tail()}")

    def wait_until(
        self, condition: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S
    ) -> None:
        """Until a condition holds. Raises when the time is over, or the process."""
        wait_until(condition, what, state=lambda: self.get("/health"), process=self._process)

    def log_tail(self) -> str:
        return self._process.log_tail()

    def ask(self, path: str) -> dict[str, Any] | None:
        """The answer; None while there is none."""
        text = self.get(path)
        return json.loads(text) if text else None

    def get(self, path: str) -> bytes:
        """The body of any answer, also of an error; empty while there is none."""
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=_ASK_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.read()
        except OSError:
            return b""
