"""Versions of Spark and its companions."""

from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dependency_versions import TESTED, DependencyVersions, versions_for

CONSTRAINTS = Path(__file__).resolve().parents[3] / "requirements" / "constraints.txt"


def test_tested_versions_equal_installed_packages(spark: SparkSession) -> None:
    assert spark.version == version("pyspark") == TESTED.spark
    assert version("delta-spark") == TESTED.delta
    assert f"pyspark=={TESTED.spark}" in CONSTRAINTS.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("spark", "expected"),
    [
        ("4.0.3", {"delta-spark_4.0_2.13-4.4.0", "iceberg-spark-runtime-4.0_2.13-1.11.0"}),
        ("4.1.3", {"delta-spark_4.1_2.13-4.4.0", "iceberg-spark-runtime-4.1_2.13-1.12.0"}),
        ("4.2.0", {"delta-spark_4.2_2.13-4.4.0"}),
        ("4.9.0", {"delta-spark_4.9_2.13-4.4.0", "iceberg-spark-runtime-4.9_2.13-1.12.0"}),
    ],
)
def test_jars_fit_spark_release(spark: str, expected: set[str]) -> None:
    artifacts = versions_for(spark).artifacts()
    names = {each.file_name.removesuffix(".jar") for each in artifacts}
    assert f"spark-sql-kafka-0-10_2.13-{spark}" in names
    assert {each for each in names if each.startswith(("delta-spark", "iceberg"))} == expected


def test_older_delta_jar_name_omits_spark_release() -> None:
    versions = DependencyVersions(spark="4.0.1", delta="4.0.1")
    assert "delta-spark_2.13-4.0.1.jar" in {each.file_name for each in versions.artifacts()}
