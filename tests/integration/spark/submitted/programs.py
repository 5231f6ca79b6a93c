"""Spark programs from the files of pyspark, and spark-submit."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from tests.support.servers.cache import REPOSITORY
from tests.support.servers.java import java_home
from tests.support.servers.processes import ServerProcess

SPARK_HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
DEADLINE_S = 800


def environment_of(folder: Path) -> dict[str, str]:
    """Environment of Spark's programs, with their files in the folder."""
    return {
        "SPARK_HOME": str(SPARK_HOME),
        "JAVA_HOME": str(java_home(17)),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_WORKER_DIR": str(folder / "work"),
    }


def as_if_installed() -> dict[str, str]:
    """Environment of a node with `cdc-sidecar[spark]`: the sources and this Python."""
    places = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    return {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def submit(
    options: Sequence[str],
    main: Path,
    config: str,
    jars: Path,
    folder: Path,
    environment: Mapping[str, str],
) -> str:
    """Run spark-submit, which must succeed, and return its output. `config` is the path of the
    options file for the driver."""
    command: list[str | Path] = [
        SPARK_HOME / "bin" / "spark-submit",
        *("--jars", ",".join(map(str, sorted(jars.glob("*.jar"))))),
        *options,
        main,
        *("--config", config),
    ]
    log = folder / f"{main.parent.name}-{main.stem}.log"
    process = ServerProcess(
        "spark-submit", command, log, directory=folder, environment=dict(environment)
    )
    process.start()
    assert process.wait(DEADLINE_S) == 0, process.log_tail()
    return log.read_text(encoding="utf-8", errors="replace")
