"""Accesses a store through a worker process.

    thread of the agent ── pickled, over a socket ──► sidecar.store.worker ── HTTP ──► store

The worker has its own interpreter lock and a lower priority, so uploads do not slow down delivery.
To cancel a request, the agent kills the process.
"""

import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from sidecar.store.base import Addressed, StoreError, StoreStoppedError

_END_S = 5.0
_SIGNALS = {each.value: each.name for each in signal.Signals}


class SubprocessStore:
    """Starts the worker process on the first request."""

    def __init__(self, store: Addressed) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._is_stopped = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    @property
    def address(self) -> str:
        return self._store.address

    @property
    def pid(self) -> int | None:
        """Process id of the worker; None while it is not running."""
        return None if self._process is None else self._process.pid

    def put(self, file: Path) -> bool:
        return bool(self.ask("put", file))

    def names(self) -> list[str]:
        return list(self.ask("names"))

    def get(self, name: str, target: Path) -> bool:
        return bool(self.ask("get", name, target))

    def remove(self, name: str) -> None:
        self.ask("remove", name)

    def missing_rights(self) -> list[str]:
        """Supported only if the store has this method."""
        return list(self.ask("missing_rights"))

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        with self._lock:
            process, self._process = self._process, None
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def ask(self, method: str, *arguments: object) -> Any:
        """Calls a method of the store in the worker process, and propagates its exceptions."""
        connection, is_new = self._connected()
        try:
            if is_new:
                connection.send(self._store)
            connection.send((method, arguments))
            answer = connection.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _connected(self) -> tuple[Connection, bool]:
        """Returns the socket, and whether its process is new."""
        with self._lock:
            if self._is_stopped:
                raise StoreStoppedError
            if self._connection is not None:
                return self._connection, False
            try:
                self._process, self._connection = _spawn()
            except OSError as error:
                raise StoreError(
                    f"The worker process for {self.address} cannot be started: "
                    f"{error.strerror or error}. Check the limits of processes, memory and open "
                    "files, and the installation."
                ) from error
            return self._connection, True

    def _ended(self) -> StoreError | StoreStoppedError:
        """Returns the error of a worker that exited; the next request starts a new worker."""
        assert self._process is not None
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        self.close()
        if self._is_stopped:
            return StoreStoppedError()
        name = _SIGNALS.get(-status, f"signal {-status}")
        how = f"by {name}" if status < 0 else f"with exit code {status}"
        return StoreError(
            f"The worker process for {self.address} ended {how}; the agent restarts it. If it ends "
            "again, raise the memory limit and read the agent's output."
        )


def _spawn() -> tuple[subprocess.Popen[bytes], Connection]:
    """Starts the process; returns it with the agent's end of the socket. Raises OSError."""
    ours, theirs = Pipe()
    with theirs:
        # Without -P a folder named `agent` in the working directory would be imported.
        command = [sys.executable, "-P", "-m", "sidecar.store.worker", str(theirs.fileno())]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        except OSError:
            ours.close()
            raise
    return process, ours
