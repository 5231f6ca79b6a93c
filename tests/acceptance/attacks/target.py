"""A running agent under attack, and its measurements."""

import http.client
import re
import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.servers.processes import Server, ServerProcess, free_port, wait_until

HOST = "127.0.0.1"
MEMORY_MIB = 448
"""The limit of the example pod."""
_PAUSE_S = 0.05
_PATIENCE_S = 30.0


@dataclass(slots=True)
class Measured:
    """Measurements during an attack."""

    probes: list[tuple[bool, float]] = field(default_factory=list)
    """Whether `/live` answered 200, and after how many seconds."""
    held_ms: float = 0.0
    """Longest time for which one thread held the interpreter."""
    memory_mib: float = 0.0
    """Largest resident memory of the agent and its children."""


class Target(Server):
    """Agent in a separate process."""

    def __init__(
        self,
        program: str,
        settings: Mapping[str, str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment` extends that of this process."""
        self.port = free_port()
        self._reads_segments = program == "agent"
        self._holds = folder / "holds"
        own = {**settings, "http.host": HOST, "http.port": str(self.port)}
        path = folder / "attacked.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "tests.acceptance.attacks.held",
            self._holds,
            program,
        ]
        command += ["run", "--config", path]
        self._process = ServerProcess(
            program, command, folder / "agent.log", environment=environment
        )

    def start(self) -> None:
        self.begin()
        wait_until(lambda: self.probe()[0], "the agent to answer /live", process=self._process)

    def begin(self) -> None:
        """Start the agent without waiting for its answer."""
        self._process.start()
        if self._reads_segments:
            self.limit_data(MEMORY_MIB << 20)

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while the process runs."""
        return self._process.exit_status

    def limit_data(self, max_bytes: int) -> None:
        """Set a limit that the parser respects like that of a control group, and that anybody may
        set."""
        if self.pid is not None:
            limits = (max_bytes, resource.RLIM_INFINITY)
            resource.prlimit(self.pid, resource.RLIMIT_DATA, limits)

    @property
    def log(self) -> str:
        """Output so far."""
        return self.log_file.read_text(errors="replace")

    def get(self, path: str) -> str:
        """Answer to a GET, whether the agent is healthy or not; empty without an answer."""
        status, text = self._answer(path)
        return text if status in (200, 503) else ""

    def probe(self) -> tuple[bool, float]:
        """Whether `/live` answers 200, and after how many seconds."""
        begin = time.monotonic()
        return self._answer("/live")[0] == 200, time.monotonic() - begin

    def _answer(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_PATIENCE_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        client = socket.create_connection((HOST, self.port), timeout=_PATIENCE_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return client

    def memory_mib(self) -> float:
        """Largest resident memory so far, by the kernel: sampling could miss a short peak."""
        total_kib = 0
        for pid in () if self.pid is None else (self.pid, *_children(self.pid)):
            with suppress(OSError):
                found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
                total_kib += int(found[1]) if found else 0
        return total_kib / 1024

    def holds_ms(self) -> list[float]:
        try:
            return [float(line) for line in self._holds.read_text().splitlines()]
        except (OSError, ValueError):
            return []


def _children(pid: int) -> list[int]:
    """Each thread has its own children: a store's worker belongs to the uploads' thread."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return found


@contextmanager
def measured(target: Target) -> Iterator[Measured]:
    """Measure a target in a separate thread during a `with` block."""
    found, ended, before = Measured(), threading.Event(), len(target.holds_ms())

    def run() -> None:
        while not ended.wait(_PAUSE_S):
            found.memory_mib = max(found.memory_mib, target.memory_mib())
            found.probes.append(target.probe())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
    # The last line of an attack is written after its end.
    time.sleep(0.3)
    found.held_ms = max(target.holds_ms()[before:], default=0.0)
