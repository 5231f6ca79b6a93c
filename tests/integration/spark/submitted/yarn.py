"""YARN on loopback: Hadoop's test cluster with two node managers."""

import sys
import sysconfig
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.integration.spark.submitted.programs import (
    DEADLINE_S,
    SPARK_HOME,
    environment_of,
    submit,
)
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path
from tests.support.servers.processes import ServerProcess, wait_until

_HADOOP = "3.5.0"
_SOURCE = Path(__file__).parent / "java" / "YarnCluster.java"
# The first leaves the others out though it needs them.
_DEPENDENCIES = (
    Dependency("org.apache.hadoop", "hadoop-client-minicluster", _HADOOP),
    Dependency("org.junit.jupiter", "junit-jupiter-api", "5.10.2"),
    Dependency("ch.qos.reload4j", "reload4j", "1.2.25"),
    Dependency("org.bouncycastle", "bcpkix-jdk18on", "1.78.1"),
)
_ENVIRONMENT = "environment"


class YarnCluster:
    """A resource manager and two node managers, as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._configuration = folder / "conf"
        self._configuration.mkdir(parents=True)
        self._environment = environment_of(folder) | {"HADOOP_CONF_DIR": str(self._configuration)}
        jars = class_path("yarn", _DEPENDENCIES)
        command: list[str | Path] = [
            java(17),
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "-cp",
            f"{compiled([_SOURCE], jars)}:{jars}/*",
            "YarnCluster",
            self._configuration / "yarn-site.xml",
        ]
        log = folder / "yarn.log"
        self._server = ServerProcess(
            "YARN", command, log, directory=folder, environment=self._environment
        )

    def __enter__(self) -> "YarnCluster":
        self._server.start()
        wait_until(
            (self._configuration / "yarn-site.xml").exists,
            "YARN",
            deadline_s=DEADLINE_S,
            process=self._server,
        )
        self._archive = _packed_environment(self._folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.terminate()

    def submit(
        self, options: Sequence[str], main: Path, config: Path, jars: Path, *files: Path
    ) -> None:
        """Submit a job; its driver runs in a container with copies of the options and `files`."""
        where = ("--master", "yarn", "--deploy-mode", "cluster")
        travelling = (
            *("--files", ",".join(map(str, (config, *files)))),
            *("--archives", f"{self._archive}#{_ENVIRONMENT}"),
            *("--conf", f"spark.pyspark.python={_ENVIRONMENT}/bin/python"),
        )
        settings = (
            *("--conf", f"spark.yarn.stagingDir=file:{self._folder / 'staging'}"),
            # Every node is this machine, so it has the jars of Spark.
            *("--conf", f"spark.yarn.jars=local:{SPARK_HOME / 'jars'}/*"),
            # On a busy machine Python may not create its session within the default of 100 s.
            *("--conf", f"spark.yarn.am.waitTime={DEADLINE_S:.0f}s"),
            *("--num-executors", "2"),
        )
        try:
            submit(
                [*where, *travelling, *settings, *options],
                main,
                config.name,
                jars,
                self._folder,
                self._environment,
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._driver_log()}") from error

    def executors(self) -> int:
        """The number of executors since the start, without the containers of drivers."""
        runs = list(self._folder.rglob("application_*/container_*/stderr"))
        return sum(not each.parent.name.endswith("_000001") for each in runs)

    def _driver_log(self) -> str:
        logs = self._folder.rglob("application_*/container_*_000001/std*")
        return "\n".join(log.read_text(errors="replace")[-4000:] for log in sorted(logs)[-2:])


def _packed_environment(folder: Path) -> Path:
    """An environment as from venv-pack, except that it refers to the installed packages."""
    place = folder / _ENVIRONMENT
    venv.create(place, symlinks=True)
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    paths = place / "lib" / name / "site-packages" / "paths.pth"
    paths.write_text(f"{REPOSITORY}\n{sysconfig.get_paths()['purelib']}\n")
    archive = folder / f"{_ENVIRONMENT}.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for part in sorted(place.iterdir()):
            packed.add(part, part.name)
    return archive
