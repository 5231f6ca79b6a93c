"""The jobs on a standalone cluster (`make test-submit`)."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.submitted.programs import (
    DEADLINE_S,
    HOST,
    SPARK_HOME,
    as_if_installed,
    environment_of,
    submit,
)
from tests.integration.spark.submitted.proof import RUNS, SCHEMA, prove
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

_REGISTERED = "Successfully registered with master"


pytestmark = [pytest.mark.servers, pytest.mark.timeout(3000)]


def test_jobs_run_on_a_standalone_cluster(
    broker: KafkaBroker, spark: SparkSession, jars_directory: Path, tmp_path: Path
) -> None:
    """One master and one worker with two cores; drivers run in the processes of spark-submit."""
    folder, port = tmp_path / "cluster", free_port()
    url = f"spark://{HOST}:{port}"
    environment = environment_of(folder) | as_if_installed()

    def start(name: str, is_ready: Callable[[ServerProcess], bool], *arguments: str) -> None:
        command: list[str | Path] = [
            SPARK_HOME / "bin" / "spark-class",
            f"org.apache.spark.deploy.{name}",
            *("--host", HOST, "--webui-port", "0", *arguments),
        ]
        log = folder / f"{name.partition('.')[0]}.log"
        server = ServerProcess(name, command, log, environment=environment)
        server.start()
        servers.callback(server.terminate)
        wait_until(lambda: is_ready(server), name, deadline_s=DEADLINE_S, process=server)

    def submitted(options: list[str], main: Path, config: Path) -> None:
        where = ("--master", url, "--deploy-mode", "client", "--conf", f"spark.driver.host={HOST}")
        submit([*where, *options], main, str(config), jars_directory, folder, environment)

    with ExitStack() as servers:
        start("master.Master", lambda _: accepts_connections(HOST, port), "--port", str(port))
        start(
            "worker.Worker",
            lambda worker: _REGISTERED in worker.log_tail(1 << 20),
            *("--cores", "2", "--memory", "2g", url),
        )
        prove(submitted, spark, broker, tmp_path, str(SCHEMA))
        assert len(list((folder / "work").glob("app-*/*/stderr"))) >= 2 * RUNS
