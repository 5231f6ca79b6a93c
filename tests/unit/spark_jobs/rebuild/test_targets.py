"""Rebuilt rows in each format."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.column_names import Format
from spark_jobs.rebuild.job import write_rows


@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_rows_replace_the_target(spark: SparkSession, tmp_path: Path, form: Format) -> None:
    """Also those of a table that was created for names without spaces."""
    target = str(tmp_path / "rebuilt")
    spark.range(1).write.format(form).save(target)
    for rows in (1, 2):
        write_rows(spark.range(rows).selectExpr("id AS `a (b)`"), form, target)
        found = spark.read.format(form).load(target).collect()
        assert sorted(row["a (b)"] for row in found) == list(range(rows))
