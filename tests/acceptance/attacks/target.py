"""A running agent under attack, and what is measured of it meanwhile."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support.servers.processes import DEADLINE_S, free_port, wait_until

HOST = "127.0.0.1"
_PAUSE_S = 0.05
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Measured:
    """While an attack ran."""

    probes: int
    failed: int
    """Probes of `/live` without 200."""
    slowest_s: float
    held_ms: float
    """The longest time for which one thread had the interpreter."""
    memory_mib: float
    """The largest resident memory of the agent and its children."""


class Target:
    """An agent in a process of its own; `with` starts and ends it."""

    def __init__(self, program: str, settings: Mapping[str, str], folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._holds = folder / "holds"
        own = {**settings, "http.host": HOST, "http.port": str(self.port)}
        path = folder / "attacked.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
        module = "tests.acceptance.attacks.held"
        self._command = [sys.executable, "-m", module, str(self._holds), program]
        self._command += ["run", "--config", str(path)]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        log = (self._folder / "agent.log").open("wb")
        self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_until(lambda: self.probe()[0], "the agent to answer /live")
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def probe(self) -> tuple[bool, float]:
        """Whether `/live` answers 200, and after how many seconds."""
        begin = time.monotonic()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_PATIENCE_S)
        try:
            connection.request("GET", "/live")
            return connection.getresponse().status == 200, time.monotonic() - begin
        except OSError:
            return False, time.monotonic() - begin
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        client = socket.create_connection((HOST, self.port), timeout=_PATIENCE_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return client

    def memory_mib(self) -> float:
        assert self._process is not None
        total = 0
        for pid in (self._process.pid, *_children(self._process.pid)):
            try:
                total += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
        return total * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    def holds_ms(self) -> list[float]:
        try:
            return [float(line) for line in self._holds.read_text().splitlines()]
        except (OSError, ValueError):
            return []


def _children(pid: int) -> list[int]:
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


class Watch:
    """Measures a target on a thread of its own inside a `with` block."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._probes: list[tuple[bool, float]] = []
        self._memory_mib = 0.0
        self._holds_before = 0

    def __enter__(self) -> Self:
        self._holds_before = len(self._target.holds_ms())
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def measured(self) -> Measured:
        # The last line of an attack is written after its end.
        time.sleep(0.3)
        return Measured(
            len(self._probes),
            sum(not is_live for is_live, _ in self._probes),
            max((duration_s for _, duration_s in self._probes), default=0.0),
            max(self._target.holds_ms()[self._holds_before :], default=0.0),
            self._memory_mib,
        )

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self._memory_mib = max(self._memory_mib, self._target.memory_mib())
            self._probes.append(self._target.probe())
