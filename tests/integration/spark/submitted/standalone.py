"""A standalone Spark cluster on loopback."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.integration.spark.submitted.programs import (
    DEADLINE_S,
    HOST,
    SPARK_HOME,
    as_if_installed,
    environment_of,
    submit,
)
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

_REGISTERED = "Successfully registered with master"


class StandaloneCluster:
    """A master and a worker with two cores, as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._url = f"spark://{HOST}:{self._port}"
        self._environment = environment_of(folder) | as_if_installed()
        self._master = self._server("master.Master", "--port", str(self._port))
        self._worker = self._server("worker.Worker", "--cores", "2", "--memory", "2g", self._url)

    def __enter__(self) -> "StandaloneCluster":
        self._master.start()
        wait_until(
            lambda: accepts_connections(HOST, self._port),
            "the master",
            deadline_s=DEADLINE_S,
            process=self._master,
        )
        self._worker.start()
        wait_until(
            lambda: _REGISTERED in self._worker.log_tail(1 << 20),
            "the worker",
            deadline_s=DEADLINE_S,
            process=self._worker,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in (self._worker, self._master):
            server.terminate()

    def submit(self, options: Sequence[str], main: Path, config: Path, jars: Path) -> None:
        """Submit a job; its driver runs in the process of spark-submit."""
        where = ("--master", self._url, "--deploy-mode", "client")
        settings = ("--conf", f"spark.driver.host={HOST}")
        submit(
            [*where, *settings, *options],
            main,
            str(config),
            jars,
            self._folder,
            self._environment,
        )

    def executors(self) -> int:
        """The number of executors since the start."""
        return len(list((self._folder / "work").glob("app-*/*/stderr")))

    def _server(self, name: str, *arguments: str) -> ServerProcess:
        program = SPARK_HOME / "bin" / "spark-class"
        listening = ("--host", HOST, "--webui-port", "0")
        command: list[str | Path] = [
            program,
            f"org.apache.spark.deploy.{name}",
            *listening,
            *arguments,
        ]
        log = self._folder / f"{name.partition('.')[0]}.log"
        return ServerProcess(name, command, log, environment=self._environment)
