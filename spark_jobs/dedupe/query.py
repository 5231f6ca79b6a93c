"""The streaming query: reads events, and writes one copy of each to Delta or Kafka.

One query serves all sinks, so Spark reads the topics once and has one state. Delta's own streaming
sink writes a single Delta table. Otherwise the query computes each micro-batch once and writes it
to one sink after the other. Delta skips a micro-batch that it already has, by the id of the
checkpoint and the number of the batch.
"""

from contextlib import AbstractContextManager

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs.checkpoint_owner import OwnedCheckpoint
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.dedupe.replica_copies import dedupe
from spark_jobs.dedupe.stats import INPUT, OUTPUT
from spark_jobs.delta_table import append_batch
from spark_jobs.progress import start_query
from spark_jobs.session_conf import job_description
from spark_jobs.source.events import EVENT_COLUMNS, InvalidRecords, events

_TABLE_COLUMNS = tuple(name for name in EVENT_COLUMNS if name != "headers")


def start(
    records: DataFrame, options: DedupeJobOptions, checkpoint: OwnedCheckpoint
) -> StreamingQuery:
    """Start the query over records of the Kafka source."""
    writer = _writer(_observed_events(records, options), options, checkpoint)
    return start_query(writer.outputMode("append"), "dedupe", options)


def _observed_events(records: DataFrame, options: DedupeJobOptions) -> DataFrame:
    found = events(records, keep_invalid=options.invalid_records == "dead-letter").observe(
        INPUT,
        F.count(F.lit(1)).alias("records"),
        F.count_if(F.col("id").isNull()).alias("invalid_records"),
        F.collect_set(F.substring_index("source", "/", 1)).alias("nodes"),
        F.max("ts_us").alias("newest_write_us"),
    )
    written = F.count_if(F.col("id").isNotNull())
    return dedupe(found, options).observe(OUTPUT, written.alias("events"))


def _writer(
    rows: DataFrame, options: DedupeJobOptions, checkpoint: OwnedCheckpoint
) -> DataStreamWriter:
    if options.sinks == ("delta",) and options.invalid_records == "fail":
        assert options.delta_path is not None
        table = rows.select(*_TABLE_COLUMNS).writeStream.format("delta")
        return table.option("path", options.delta_path)

    is_first = True

    def write(batch: DataFrame, batch_id: int) -> None:
        nonlocal is_first
        batch.persist()
        try:
            if is_first:
                # Spark may repeat the last micro-batch of an earlier run. Delta does not compute a
                # batch that it skips, and Spark would not store its state.
                with _described(batch, batch_id, "drop replica copies"):
                    batch.count()
            _write_batch(batch, batch_id, options, checkpoint)
        finally:
            batch.unpersist()
        is_first = False

    return rows.writeStream.foreachBatch(write)


def _write_batch(
    batch: DataFrame, batch_id: int, options: DedupeJobOptions, checkpoint: OwnedCheckpoint
) -> None:
    """Write to Delta first: Delta skips a repeated batch, but Kafka would have it twice."""
    if options.dead_letter_path is not None:
        with _described(batch, batch_id, "append invalid records"):
            invalid = InvalidRecords(options.dead_letter_path, checkpoint.id)
            invalid.append(batch.where("id is null"), batch_id)
        batch = batch.where("id is not null")
    if options.delta_path is not None:
        with _described(batch, batch_id, "append to Delta"):
            rows = batch.select(*_TABLE_COLUMNS)
            append_batch(rows, options.delta_path, checkpoint.id, batch_id)
    if "kafka" in options.sinks:
        settings = options.producer_settings()
        with _described(batch, batch_id, "send to Kafka"):
            _messages(batch, options).write.format("kafka").options(**settings).save()


def _described(batch: DataFrame, batch_id: int, what: str) -> AbstractContextManager[None]:
    return job_description(batch.sparkSession, f"dedupe: {what}, micro-batch {batch_id}")


def _messages(batch: DataFrame, options: DedupeJobOptions) -> DataFrame:
    """Rows for the Kafka sink, with key, value, headers and order of the source."""
    topic = F.concat(F.lit(options.topic_prefix), "topic")
    if options.topic is not None:
        topic = F.lit(options.topic)
    ordered = batch.repartition("topic", "partition").sortWithinPartitions(
        "topic", "partition", "offset"
    )
    partition = ["partition"] if options.partition_by == "source" else []
    return ordered.select(topic.alias("topic"), "key", "value", "headers", *partition)
