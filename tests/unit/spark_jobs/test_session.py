"""The Spark session of the jobs."""

from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dependency_versions import TESTED, DependencyVersions
from spark_jobs.errors import SetupError
from spark_jobs.jars import jars_in
from spark_jobs.session import SETTINGS


def test_the_session_has_the_settings_of_every_job(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == dict(SETTINGS)


def test_delta_tables_can_be_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(3).write.format("delta").save(path)
    spark.range(3, 5).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).count() == 5


def test_the_jars_are_those_of_the_python_packages(spark: SparkSession) -> None:
    assert spark.version == version("pyspark") == TESTED.spark
    assert version("delta-spark") == TESTED.delta


def test_a_missing_jar_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for artifact in TESTED.artifacts()[1:]:
        (tmp_path / artifact.file_name).touch()
    with pytest.raises(SetupError) as raised:
        jars_in(tmp_path)
    assert TESTED.artifacts()[0].file_name in str(raised.value)
    assert f"python -m spark_jobs.jars {tmp_path}" in str(raised.value)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (DependencyVersions(spark="4.2.0", delta="4.4.0"), "delta-spark_4.2_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.0.1", delta="4.4.0"), "delta-spark_4.0_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.0.1", delta="4.0.1"), "delta-spark_2.13-4.0.1.jar"),
    ],
)
def test_delta_carries_the_release_of_spark_in_its_name(
    versions: DependencyVersions, expected: str
) -> None:
    assert expected in {artifact.file_name for artifact in versions.artifacts()}
