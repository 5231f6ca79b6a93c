"""A comparison whose store version was removed."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.compare.job import explain_removed_version
from spark_jobs.errors import CheckpointError


def test_unrelated_errors_stay_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), explain_removed_version("/state"):
        raise ZeroDivisionError


def test_removed_store_file_error_contains_remedy(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    spark.range(1).coalesce(1).write.format("delta").save(table)
    (file,) = Path(table).glob("*.parquet")
    file.unlink()
    with (
        pytest.raises(CheckpointError, match="Remove /state and start again"),
        explain_removed_version("/state"),
    ):
        spark.read.format("delta").option("versionAsOf", 0).load(table).collect()
