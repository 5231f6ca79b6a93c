"""Descriptions of Spark jobs in the UI."""

from pyspark.sql import SparkSession

from spark_jobs.job_description import job_description


def descriptions(spark: SparkSession) -> list[str | None]:
    """Those of all jobs, the newest first."""
    listed = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (listed.apply(at).description() for at in range(listed.size()))
    return [each.get() if each.isDefined() else None for each in found]


def test_jobs_of_a_block_have_its_description(spark: SparkSession) -> None:
    with job_description(spark, "outer"):
        with job_description(spark, "inner"):
            spark.range(3).collect()
        spark.range(3).collect()
    spark.range(3).collect()
    newest, second, third, *_ = descriptions(spark)
    assert (second, third) == ("outer", "inner")
    assert newest not in ("outer", "inner")
