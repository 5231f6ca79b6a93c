"""Starts the agent as a process and monitors it over HTTP, as an operator would."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_POLL_S = 0.1
_STOP_S = 60.0


class DemoError(Exception):
    """The demo failed. The message states the cause."""


@dataclass(frozen=True)
class Health:
    """The response of `/health`: the verdict, and one message per component."""

    ok: bool
    messages: Mapping[str, str]


class AgentProcess:
    """`with AgentProcess(…) as agent:` starts the agent; leaving the block always stops it."""

    def __init__(
        self,
        arguments: Sequence[str],
        log_file: Path,
        preferred_port: int,
        program: str = "agent",
    ) -> None:
        self._port = free_port(preferred_port)
        path = str(Path(sys.executable).with_name(program))
        self.command = [path, *arguments, "--set", f"http.port={self._port}"]
        self.log_file = log_file
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(self.command, stdout=log, stderr=log)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def health(self) -> Health | None:
        """Return `/health`, or None if the agent does not respond yet."""
        document = self.document("/health")
        if document is None:
            return None
        components: dict[str, Any] = document["components"]
        return Health(
            document["status"] == "ok",
            {name: str(component["message"]) for name, component in components.items()},
        )

    def document(self, path: str) -> Any:
        """Return a page's JSON, even with status 503, or None if the agent does not respond yet."""
        body = self._get(path)
        return None if body is None else json.loads(body)

    def wait_until(
        self,
        what: str,
        is_reached: Callable[[], bool],
        deadline_s: float,
        show: Callable[[], None] = lambda: None,
    ) -> None:
        """Poll, and call `show`, until a condition holds.

        Raises `DemoError` if the agent exits or the deadline passes.
        """
        end_s = time.monotonic() + deadline_s
        while not is_reached():
            if self._process is None or self._process.poll() is not None:
                code = self._process.returncode if self._process is not None else None
                raise DemoError(f"The agent ended with exit code {code}.\n{self.log_tail()}")
            if time.monotonic() > end_s:
                raise DemoError(f"{what} took more than {deadline_s:.0f} s.\n{self.log_tail()}")
            show()
            time.sleep(_POLL_S)
        show()

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(_STOP_S)

    def log_tail(self) -> str:
        """Return the last lines of the agent's log."""
        lines = self.log_file.read_text(errors="replace").splitlines()[-15:]
        return "\n".join([f"The end of {self.log_file}:", *lines])

    def _get(self, path: str) -> bytes | None:
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            # A response with status 503 contains the same document.
            with error:
                return error.read()
        except OSError:
            return None


def free_port(preferred: int) -> int:
    """Return the preferred port, or a free port if it is in use."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise DemoError("No port is free on 127.0.0.1.")
