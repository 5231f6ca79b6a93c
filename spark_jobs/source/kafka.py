"""Records of Kafka topics with their headers, from Spark's Kafka source."""

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.options.source import SourceOptions


def read_stream(
    session: SparkSession, options: SourceOptions, *, is_limited: bool = True
) -> DataFrame:
    """A stream of records with key, value, topic, partition, offset, headers and more columns.

    `max.offsets.per.trigger` applies only if `is_limited`.
    """
    settings = options.reader_options()
    if not is_limited:
        settings.pop("maxOffsetsPerTrigger", None)
    return session.readStream.format("kafka").options(**settings).load()


def read(session: SparkSession, options: SourceOptions) -> DataFrame:
    """The current records of the topics from `starting.offsets`, with the same columns."""
    settings = options.reader_options()
    settings.pop("maxOffsetsPerTrigger", None)
    return session.read.format("kafka").options(**settings).load()
