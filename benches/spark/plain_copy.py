"""The comparison of the jobs: a plain copy of a topic to a Delta table."""

from pyspark.sql import SparkSession

from spark_jobs.options.kafka import SourceOptions
from spark_jobs.source.kafka import read_stream

COPIED = ("key", "value", "topic", "partition", "offset")


def plain_copy(session: SparkSession, options: SourceOptions, folder: str) -> None:
    """Copy all records to a new table in a folder."""
    records = read_stream(session, options)
    query = (
        records.select(*COPIED)
        .writeStream.format("delta")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/table")
    )
    query.awaitTermination()
