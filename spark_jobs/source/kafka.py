"""Records of Kafka topics with their headers, as Spark's Kafka source gives them."""

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.options.source import SourceOptions


def read_stream(
    session: SparkSession, options: SourceOptions, *, is_limited: bool = True
) -> DataFrame:
    """The topics as a stream of records: key, value, topic, partition, offset, headers, …

    Unless `is_limited`, `max.offsets.per.trigger` does not count.
    """
    settings = options.reader_options()
    if not is_limited:
        settings.pop("maxOffsetsPerTrigger", None)
    return session.readStream.format("kafka").options(**settings).load()


def read(session: SparkSession, options: SourceOptions) -> DataFrame:
    """What is in the topics now, from `starting.offsets` on; the same columns."""
    settings = options.reader_options()
    settings.pop("maxOffsetsPerTrigger", None)
    return session.read.format("kafka").options(**settings).load()
