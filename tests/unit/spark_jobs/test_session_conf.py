"""Descriptions of Spark jobs in the UI."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.session_conf import job_description
from tests.support.spark.session import descriptions


def test_spark_jobs_of_block_have_its_description(spark: SparkSession) -> None:
    with job_description(spark, "outer"):
        with job_description(spark, "inner"):
            spark.range(3).collect()
        spark.range(3).collect()
    spark.range(3).collect()
    newest, second, third, *_ = descriptions(spark)
    assert (second, third) == ("outer", "inner")
    assert newest not in ("outer", "inner")


def test_spark_jobs_of_micro_batch_have_descriptions(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "line.txt").write_text("line")

    def write(frame: DataFrame, number: int) -> None:
        with job_description(spark, f"append micro-batch {number}"):
            frame.collect()

    stream = spark.readStream.text(str(tmp_path / "in")).writeStream.foreachBatch(write)
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert stream.trigger(availableNow=True).start().awaitTermination(60)
    assert "append micro-batch 0" in descriptions(spark)
