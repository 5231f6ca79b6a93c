"""The Spark session of the jobs."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

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


def test_the_session_has_the_settings_of_every_job(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == dict(SETTINGS)


def test_delta_tables_can_be_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(3).write.format("delta").save(path)
    spark.range(3, 5).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).count() == 5


def test_iceberg_and_delta_tables_can_be_merged_in_one_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    require_iceberg(spark)
    delta = str(tmp_path / "table")
    spark.range(3).write.format("delta").save(delta)
    for target, properties in (
        (f"delta.`{delta}`", ""),
        ("lake.db.merged", "USING iceberg TBLPROPERTIES ('format-version' = '3')"),
    ):
        if properties:
            spark.sql(f"CREATE TABLE {target} {properties} AS SELECT id FROM range(3)")
        spark.sql(
            f"MERGE INTO {target} t USING (SELECT id FROM range(2, 5)) s ON t.id = s.id "
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
        )
        assert sorted(row.id for row in spark.sql(f"SELECT id FROM {target}").collect()) == [
            *(0, 1, 3, 4)
        ]
    spark.sql("DROP TABLE lake.db.merged PURGE")


def test_a_job_does_not_start_in_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="needs a classic session"):
        create_session("job", settings={"spark.remote": "sc://server"})
    monkeypatch.setenv("SPARK_REMOTE", "sc://server")
    with pytest.raises(SetupError, match="needs a classic session"):
        create_session("job")


def test_delta_works_alone(jars_directory: Path, java_options: str, tmp_path: Path) -> None:
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
    assert f"Spark {pyspark.__version__} has no jar of Iceberg" in done.stdout
