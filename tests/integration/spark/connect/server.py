"""A Spark Connect server with Delta on this machine."""

import os
import sys
from pathlib import Path
from types import TracebackType

import pyspark

from spark_jobs.session import LOCAL_SETTINGS, SETTINGS
from tests.support.servers.java import java_home
from tests.support.servers.processes import (
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

_HOST = "127.0.0.1"
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """Runs while the block runs; `remote` is its address for clients."""

    def __init__(self, folder: Path, jars: Path, java_options: str) -> None:
        self._port = free_port(_HOST)
        self.remote = f"sc://{_HOST}:{self._port}"
        settings = {
            **SETTINGS,
            **LOCAL_SETTINGS,
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": java_options,
            "spark.connect.grpc.binding.address": _HOST,
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        confs = [part for each in settings.items() for part in ("--conf", "=".join(each))]
        command: list[str | Path] = [
            Path(pyspark.__file__).parent / "bin" / "spark-submit",
            *("--master", "local[2]", "--class", _CLASS),
            *("--jars", ",".join(map(str, sorted(jars.glob("*.jar"))))),
            *confs,
            "spark-internal",
        ]
        environment = {
            "JAVA_HOME": str(java_home(17)),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "PYSPARK_PYTHON": sys.executable,
            # The server imports the functions of `mapInArrow`.
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        log = folder / "connect.log"
        self._process = ServerProcess(
            "Spark Connect", command, log, directory=folder, environment=environment
        )

    def __enter__(self) -> "ConnectServer":
        self._process.start()
        wait_until(lambda: accepts_connections(_HOST, self._port), "Connect", process=self._process)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
