"""Child processes that never outlive the tests, free ports, and waiting on conditions."""

import atexit
import itertools
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final, Self

from tests.support.servers.errors import ServerFailedError

POLL_INTERVAL_S = 0.05
DEADLINE_S = 600.0
"""Of every wait. It only ends waits that have no end, so it suits a machine that is very busy."""
_LAUNCHER = Path(__file__).with_name("launch.py")
_LOG_TAIL_BYTES = 6000


class ServerProcess:
    """One child process whose output goes to a log file; it never outlives this process.

    `name` is for messages. A second `start` appends to the log.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log_file: Path,
        *,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self.log_file = log_file
        self.directory = directory
        self.environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The pid while it runs, else None."""
        return self._process.pid if self._process is not None and self.is_running else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Exit status of the last run (negative: a signal), None before its end."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        if self.is_running:
            raise ServerFailedError(f"{self.name} is running already.")
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self._process = _spawner.spawn(self)
        _running.add(self)

    def terminate(self, deadline_s: float = DEADLINE_S) -> int:
        """SIGTERM, wait, SIGKILL after the deadline; returns the exit status."""
        return self._end(signal.SIGTERM, max(deadline_s, DEADLINE_S))

    def kill(self) -> int:
        """SIGKILL and wait; returns the exit status."""
        return self._end(signal.SIGKILL, DEADLINE_S)

    def wait(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait until it ends by itself; returns the exit status."""
        if self._process is None:
            raise ServerFailedError(f"{self.name} was never started.")
        try:
            status = self._process.wait(max(deadline_s, DEADLINE_S))
        except subprocess.TimeoutExpired:
            raise ServerFailedError(_in_vain(f"the end of {self.name}", self)) from None
        _running.discard(self)
        return status

    def log_tail(self, size_bytes: int = _LOG_TAIL_BYTES) -> str:
        """The end of the log."""
        if not self.log_file.exists():
            return "(no log)"
        with self.log_file.open("rb") as log:
            log.seek(max(0, self.log_file.stat().st_size - size_bytes))
            return log.read().decode("utf-8", "replace")

    def _end(self, number: signal.Signals, deadline_s: float) -> int:
        process = self._process
        if process is None:
            raise ServerFailedError(f"{self.name} was never started.")
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(deadline_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _running.discard(self)
        return process.returncode


class Server(ABC):
    """`with server:` starts a server, and kills it at the end of the block; `_process` is its
    process."""

    _process: ServerProcess

    @property
    def log_file(self) -> Path:
        return self._process.log_file

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.is_running:
            self.kill()

    @abstractmethod
    def start(self) -> None:
        """Start over the files of the last run, if any, and wait until it answers."""

    def stop(self) -> None:
        """SIGTERM and wait."""
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def restart(self, *, clean: bool = True) -> None:
        """Stop (or kill) and start over the same files and ports."""
        if clean:
            self.stop()
        else:
            self.kill()
        self.start()


def wait_until(
    condition: Callable[[], bool],
    what: str,
    *,
    state: Callable[[], object] | None = None,
    process: ServerProcess | None = None,
    deadline_s: float = DEADLINE_S,
) -> None:
    """Poll until `condition()` holds; `ServerFailedError` at the deadline or when `process` ends.

    `what` completes "waited in vain for …"; the error shows `state()`, and how busy the machine is.
    """
    begun_s = time.monotonic()
    while not condition():
        if process is not None and not process.is_running:
            raise ServerFailedError(
                f"{process.name} ended with status {process.exit_status} while waiting for "
                f"{what}.\n{process.log_tail()}"
            )
        if time.monotonic() - begun_s > max(deadline_s, DEADLINE_S):
            raise ServerFailedError(_in_vain(what, process, state))
        time.sleep(POLL_INTERVAL_S)


def freeze(pid: int) -> None:
    """SIGSTOP, until each thread has stopped: on a busy machine some run for a while."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: _are_stopped(pid), f"the threads of {pid} to stop")


def _are_stopped(pid: int) -> bool:
    """Whether the signal has reached every thread; `kill` does not wait for that."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    # The state follows the name, which may have spaces and parentheses.
    states = [(each / "stat").read_text().rpartition(") ")[2][0] for each in threads]
    return all(state == "T" for state in states)


def _in_vain(
    what: str, process: ServerProcess | None, state: Callable[[], object] | None = None
) -> str:
    loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
    lines = [
        f"Waited in vain for {what}. The load of the last 1, 5 and 15 minutes on "
        f"{os.cpu_count()} processors: {loads}."
    ]
    if state is not None:
        lines.append(f"The state at the end: {state()}")
    if process is not None:
        lines.append(process.log_tail())
    return "\n".join(lines)


def free_port(*addresses: str) -> int:
    """A TCP port that is free on every one of the addresses (127.0.0.1 by default).

    Taken from below the ephemeral range, so that no outgoing connection takes it while its server
    is down for a restart. A server may take several ports before it listens on the first, so
    no port is given twice before every other one was.
    """
    for port in itertools.islice(_PORTS, 1000):
        if all(_is_free(address, port) for address in addresses or ("127.0.0.1",)):
            return port
    raise ServerFailedError("No free port found in a thousand tries.")


def accepts_connections(address: str, port: int) -> bool:
    """Whether something listens there."""
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def _shuffled_ports() -> Iterator[int]:
    ports = list(range(15000, _first_ephemeral_port()))
    # Tools of tests seed the shared generator, and then processes side by side would agree.
    random.SystemRandom().shuffle(ports)
    return itertools.cycle(ports)


def _first_ephemeral_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32768


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


_PORTS: Final = _shuffled_ports()


class _Spawner:
    """Starts every child from one thread that ends only with the process (see `launch.py`)."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[tuple[ServerProcess, Future[subprocess.Popen[bytes]]]] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def spawn(self, server: ServerProcess) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spawner", daemon=True)
                self._thread.start()
        answer: Future[subprocess.Popen[bytes]] = Future()
        self._requests.put((server, answer))
        return answer.result()

    def _run(self) -> None:
        while True:
            server, answer = self._requests.get()
            try:
                answer.set_result(self._popen(server))
            except BaseException as error:
                answer.set_exception(error)

    @staticmethod
    def _popen(server: ServerProcess) -> subprocess.Popen[bytes]:
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())]
        environment = None if server.environment is None else {**os.environ, **server.environment}
        with server.log_file.open("ab") as log:
            return subprocess.Popen(
                [*launcher, *server.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=server.directory,
                env=environment,
                start_new_session=True,
            )


_spawner = _Spawner()
_running: set[ServerProcess] = set()


@atexit.register
def _end_all() -> None:
    for server in list(_running):
        if server.is_running:
            server.kill()
