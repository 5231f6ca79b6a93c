"""Versions of Spark and its companions."""

from importlib.metadata import version

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dependency_versions import TESTED, DependencyVersions


def test_the_tested_versions_are_those_of_the_python_packages(spark: SparkSession) -> None:
    assert spark.version == version("pyspark") == TESTED.spark
    assert version("delta-spark") == TESTED.delta


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (DependencyVersions(spark="4.2.0", delta="4.4.0"), "delta-spark_4.2_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.0.1", delta="4.4.0"), "delta-spark_4.0_2.13-4.4.0.jar"),
        (DependencyVersions(spark="4.0.1", delta="4.0.1"), "delta-spark_2.13-4.0.1.jar"),
    ],
)
def test_the_jar_of_delta_has_the_release_of_spark_in_its_name(
    versions: DependencyVersions, expected: str
) -> None:
    assert expected in {artifact.file_name for artifact in versions.artifacts()}
