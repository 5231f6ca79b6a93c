"""FerretDB (Go, over SQLite) and SecantusDB (Python, over WiredTiger), each as a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import ToolFailedError
from tests.support.servers.go import go_command
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

_FERRETDB = Path(__file__).with_name("ferretdb")
_SECANTUSDB = "secantusdb==0.7.0b3"


@contextmanager
def ferretdb(directory: Path) -> Iterator[str]:
    """Its connection string. It has no replica set, no sessions and no change streams."""

    def build(target: Path) -> None:
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
        program = str(target / "ferretdb")
        command = [str(go_command()), "build", "-trimpath", "-ldflags=-s -w", "-o", program, "."]
        _run(command, _FERRETDB, environment)

    program = cached_directory("go/ferretdb-1.24.0", build) / "ferretdb"
    (directory / "data").mkdir(parents=True)
    port = free_port()
    command = [str(program), f"127.0.0.1:{port}", str(directory / "data")]
    with _running("FerretDB", command, port, directory):
        yield f"mongodb://127.0.0.1:{port}/"


@contextmanager
def secantusdb(directory: Path) -> Iterator[str]:
    """Its connection string: a replica set of one member."""

    def install(target: Path) -> None:
        _run([sys.executable, "-m", "venv", str(target)], target)
        # The folder is renamed when it is whole, so the programs beside Python name another one.
        _run([str(target / "bin" / "python"), "-m", "pip", "install", "-q", _SECANTUSDB], target)

    python = cached_directory(_SECANTUSDB, install) / "bin" / "python"
    directory.mkdir(parents=True)
    port = free_port()
    command = [str(python), "-m", "secantus", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--storage-path", str(directory / "data"), "--noop-heartbeat-seconds", "1"]
    with _running("SecantusDB", command, port, directory):
        yield f"mongodb://127.0.0.1:{port}/?replicaSet=secantus"


SERVERS: Mapping[str, Callable[[Path], AbstractContextManager[str]]] = {
    "ferretdb": ferretdb,
    "secantusdb": secantusdb,
}


@contextmanager
def _running(name: str, command: list[str], port: int, directory: Path) -> Iterator[None]:
    process = ServerProcess(name, command, directory / "server.log", directory=directory)
    process.start()
    try:
        wait_until(lambda: accepts_connections("127.0.0.1", port), f"{name}", process=process)
        yield
    finally:
        process.terminate()


def _run(command: list[str], directory: Path, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ToolFailedError(f"`{' '.join(command)}` failed:\n{done.stderr[-4000:]}")
