"""The jobs on YARN in cluster mode (`make test-submit`)."""

import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.submitted.programs import (
    DEADLINE_S,
    SPARK_HOME,
    environment_of,
    submit,
)
from tests.integration.spark.submitted.proof import RUNS, SCHEMA, prove
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.maven import Dependency, class_path
from tests.support.servers.processes import ServerProcess, wait_until

_HADOOP = "3.5.0"
_SOURCE = Path(__file__).parent / "java" / "YarnCluster.java"
# The first package omits the others although it requires them.
_DEPENDENCIES = (
    Dependency("org.apache.hadoop", "hadoop-client-minicluster", _HADOOP),
    Dependency("org.junit.jupiter", "junit-jupiter-api", "5.10.2"),
    Dependency("ch.qos.reload4j", "reload4j", "1.2.25"),
    Dependency("org.bouncycastle", "bcpkix-jdk18on", "1.78.1"),
)
_ENVIRONMENT = "environment"


def _packed_environment(folder: Path) -> Path:
    """Environment like that of venv-pack, but with references to the installed packages."""
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


pytestmark = [pytest.mark.servers, pytest.mark.timeout(3000)]


def test_jobs_run_on_yarn(
    broker: KafkaBroker, spark: SparkSession, jars_directory: Path, tmp_path: Path
) -> None:
    """One resource manager and two node managers. Drivers run in containers, with copies of the
    options and the schema."""
    folder = tmp_path / "cluster"
    configuration = folder / "conf"
    configuration.mkdir(parents=True)
    environment = environment_of(folder) | {"HADOOP_CONF_DIR": str(configuration)}
    archive = _packed_environment(folder)
    settings = (
        *("--master", "yarn", "--deploy-mode", "cluster", "--num-executors", "2"),
        *("--archives", f"{archive}#{_ENVIRONMENT}"),
        *("--conf", f"spark.pyspark.python={_ENVIRONMENT}/bin/python"),
        *("--conf", f"spark.yarn.stagingDir=file:{folder / 'staging'}"),
        # Every node is this machine, so it has the jars of Spark.
        *("--conf", f"spark.yarn.jars=local:{SPARK_HOME / 'jars'}/*"),
        # On a busy machine Python may not create its session within the default of 100 s.
        *("--conf", f"spark.yarn.am.waitTime={DEADLINE_S:.0f}s"),
    )

    def submitted(options: list[str], main: Path, config: Path) -> None:
        given = [*settings, "--files", f"{config},{SCHEMA}", *options]
        try:
            submit(given, main, config.name, jars_directory, folder, environment)
        except AssertionError as error:
            logs = sorted(folder.rglob("application_*/container_*_000001/std*"))[-2:]
            driver = "\n".join(log.read_text(errors="replace")[-4000:] for log in logs)
            raise AssertionError(f"{error}\n{driver}") from error

    jars, site = class_path("yarn", _DEPENDENCIES), configuration / "yarn-site.xml"
    command: list[str | Path] = [
        *(java(17), "--add-opens=java.base/java.lang=ALL-UNNAMED"),
        *("-cp", f"{compiled([_SOURCE], jars)}:{jars}/*", "YarnCluster", site),
    ]
    log = folder / "yarn.log"
    server = ServerProcess("YARN", command, log, directory=folder, environment=environment)
    server.start()
    try:
        wait_until(site.exists, "YARN", deadline_s=DEADLINE_S, process=server)
        prove(submitted, spark, broker, tmp_path, SCHEMA.name)
        # Without the containers of the drivers.
        runs = folder.rglob("application_*/container_*/stderr")
        assert sum(not each.parent.name.endswith("_000001") for each in runs) >= RUNS
    finally:
        server.terminate()
