"""The Spark session of the jobs."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_jobs import session
from spark_jobs.errors import SetupError
from spark_jobs.session import SETTINGS, create_session, require_iceberg
from tests.support.servers.java import java_home

WITHOUT_ICEBERG = """
import sys
from pathlib import Path
from spark_jobs.errors import SetupError
from spark_jobs.session import create_session, require_iceberg

settings = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": sys.argv[2]}
spark = create_session("delta", jars=Path(sys.argv[1]), master="local[1]", settings=settings)
spark.range(3).write.format("delta").save(sys.argv[3])
assert spark.read.format("delta").load(sys.argv[3]).count() == 3
try:
    require_iceberg(spark)
except SetupError as error:
    print(error)
"""


def test_session_contains_settings_of_every_job(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == dict(SETTINGS)


def test_missing_iceberg_and_kafka_jars_are_reported(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_iceberg(spark)
    without = SimpleNamespace(version="4.2.0", conf={"spark.sql.extensions": "delta"})
    with pytest.raises(SetupError, match=r"Spark 4\.2\.0 has no jar for Iceberg"):
        require_iceberg(cast(SparkSession, without))
    monkeypatch.setattr(session, "_has_class", lambda name: "kafka" not in name)
    with pytest.raises(SetupError, match="no jar for the Kafka source"):
        create_session("job")


def test_job_rejects_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="needs a classic Spark session"):
        create_session("job", settings={"spark.remote": "sc://server"})
    monkeypatch.setenv("SPARK_REMOTE", "sc://server")
    with pytest.raises(SetupError, match="needs a classic Spark session"):
        create_session("job")


@pytest.mark.slow
def test_delta_works_without_iceberg(
    jars_directory: Path, java_options: str, tmp_path: Path
) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    for path in jars_directory.iterdir():
        if not path.name.startswith("iceberg"):
            (jars / path.name).symlink_to(path)
    command: list[str | Path] = [
        sys.executable,
        "-c",
        WITHOUT_ICEBERG,
        jars,
        java_options,
        tmp_path / "table",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": str(java_home(17)), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"Spark {pyspark.__version__} has no jar for Iceberg" in done.stdout
