"""Iceberg's own REST catalog: the servlet of its tests, over a JDBC catalog in SQLite."""

import os
from pathlib import Path

import pyspark

from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, artifact, class_path
from tests.support.servers.processes import (
    Server,
    ServerProcess,
    accepts_connections,
    free_port,
    wait_until,
)

# The release before that of the client, as in a deployment where the catalog is upgraded later.
VERSION = "1.11.0"
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
"""SQLite's JDBC driver."""
_JETTY = "11.0.26"
_SOURCE = Path(__file__).resolve().parents[1] / "java" / "IcebergRestCatalog.java"
_HOST = "127.0.0.1"


class IcebergRestCatalog(Server):
    """Runs while the block runs; `url` is its address. Tables are in a folder."""

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        self.url = f"http://{_HOST}:{self._port}"
        path = [*_jars(), compiled([_SOURCE], _lib())]
        command: list[str | Path] = [
            java(17),
            *("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", os.pathsep.join(map(str, path)), "cdcsidecar.IcebergRestCatalog"),
            *(str(self._port), f"jdbc:sqlite:{folder / 'catalog.db'}", folder / "warehouse"),
        ]
        self._process = ServerProcess("Iceberg's REST catalog", command, folder / "catalog.log")

    def start(self) -> None:
        self._process.start()
        wait_until(
            lambda: accepts_connections(_HOST, self._port), "the catalog", process=self._process
        )


def _lib() -> Path:
    """A folder with all jars that the program is compiled against."""
    return class_path(
        "iceberg-rest",
        [
            Dependency("org.apache.iceberg", "iceberg-core", VERSION),
            Dependency("org.apache.iceberg", "iceberg-core", VERSION, classifier="tests"),
            Dependency("org.eclipse.jetty", "jetty-servlet", _JETTY),
        ],
    )


def _jars() -> list[Path]:
    # `pyspark` contains Hadoop's client.
    hadoop = sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))
    return [*sorted(_lib().glob("*.jar")), artifact(SQLITE), *hadoop]
