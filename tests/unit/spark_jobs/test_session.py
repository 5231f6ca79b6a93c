"""The Spark session of the jobs."""

from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.session import SETTINGS


def test_the_session_has_the_settings_of_every_job(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SETTINGS} == dict(SETTINGS)


def test_delta_tables_can_be_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(3).write.format("delta").save(path)
    spark.range(3, 5).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).count() == 5
