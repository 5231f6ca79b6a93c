"""Versions of Spark and its companions."""

from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dependency_versions import TESTED, DependencyVersions

CONSTRAINTS = Path(__file__).resolve().parents[3] / "requirements" / "constraints.txt"


def test_the_tested_versions_are_those_of_the_python_packages(spark: SparkSession) -> None:
    assert spark.version == version("pyspark") == TESTED.spark
    assert version("delta-spark") == TESTED.delta
    assert f"pyspark=={TESTED.spark}" in CONSTRAINTS.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (TESTED, "delta-spark_4.1_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.2.0", delta="4.4.0"), "delta-spark_4.2_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.0.1", delta="4.4.0"), "delta-spark_4.0_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.0.1", delta="4.0.1"), "delta-spark_2.13-4.0.1.jar"),
    ],
)
def test_the_jar_of_delta_has_the_release_of_spark_in_its_name(
    versions: DependencyVersions, expected: str
) -> None:
    assert expected in {artifact.file_name for artifact in versions.artifacts()}


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (TESTED, ["iceberg-spark-runtime-4.1_2.13-1.12.0.jar"]),
        (
            DependencyVersions(spark="4.0.1", iceberg="1.11.0"),
            ["iceberg-spark-runtime-4.0_2.13-1.11.0.jar"],
        ),
        (DependencyVersions(spark="4.2.0", iceberg=None), []),
    ],
)
def test_a_release_of_spark_may_lack_a_jar_of_iceberg(
    versions: DependencyVersions, expected: list[str]
) -> None:
    names = [artifact.file_name for artifact in versions.artifacts()]
    assert [name for name in names if name.startswith("iceberg")] == expected
