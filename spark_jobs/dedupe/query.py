"""The streaming query: events in, first copies out to Delta or Kafka.

One query, whatever the number of sinks: the topics are read once, there is one state, and every
sink is given the same copies. A single Delta table is written by Delta's own streaming sink. In all
other cases each micro-batch is computed once and written to one place after the other; Delta knows
a micro-batch that it has by the checkpoint's id and the number of the batch.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs.checkpoint import Claim
from spark_jobs.dedupe.figures import INPUT, OUTPUT
from spark_jobs.dedupe.first_copies import dedupe
from spark_jobs.dedupe.job_options import DedupeJobOptions
from spark_jobs.source import EVENT_COLUMNS, events

_TABLE_COLUMNS = tuple(name for name in EVENT_COLUMNS if name != "headers")


def start(records: DataFrame, options: DedupeJobOptions, claim: Claim) -> StreamingQuery:
    """Start the query over records of the Kafka source."""
    writer = _written(_observed_copies(records, options), options, claim)
    return (
        writer.queryName("dedupe")
        .outputMode("append")
        .option("checkpointLocation", options.checkpoint)
        .trigger(**options.trigger_arguments())
        .start()
    )


def _observed_copies(records: DataFrame, options: DedupeJobOptions) -> DataFrame:
    found = events(records, keep_strangers=options.strangers == "aside").observe(
        INPUT,
        F.count(F.lit(1)).alias("records"),
        F.count_if(F.col("id").isNull()).alias("strangers"),
        F.collect_set(F.substring_index("source", "/", 1)).alias("nodes"),
        F.max("ts_us").alias("newest_write_us"),
    )
    kept = F.count_if(F.col("id").isNotNull())
    return dedupe(found, options).observe(OUTPUT, kept.alias("events"))


def _written(copies: DataFrame, options: DedupeJobOptions, claim: Claim) -> DataStreamWriter:
    if options.sinks == ("delta",) and options.strangers == "fail":
        assert options.delta_path is not None
        table = copies.select(*_TABLE_COLUMNS).writeStream.format("delta")
        return table.option("path", options.delta_path)

    def write(batch: DataFrame, batch_id: int) -> None:
        # Delta computes nothing of a batch that it skips, and then the state of the batch is not
        # saved: all of it is computed here, once.
        batch.persist().count()
        try:
            _write_batch(batch, batch_id, options, claim)
        finally:
            batch.unpersist()

    return copies.writeStream.foreachBatch(write)


def _write_batch(batch: DataFrame, batch_id: int, options: DedupeJobOptions, claim: Claim) -> None:
    """Delta first: what it has already is skipped when a batch comes again, Kafka has it twice."""
    if options.aside_path is not None:
        strangers = batch.where("id is null").select("key", "value", *EVENT_COLUMNS[6:])
        _append(strangers, options.aside_path, batch_id, claim)
        batch = batch.where("id is not null")
    if options.delta_path is not None:
        _append(batch.select(*_TABLE_COLUMNS), options.delta_path, batch_id, claim)
    if "kafka" in options.sinks:
        settings = options.producer_settings()
        _messages(batch, options).write.format("kafka").options(**settings).save()


def _append(rows: DataFrame, path: str, batch_id: int, claim: Claim) -> None:
    writer = rows.write.format("delta").mode("append")
    writer.option("txnAppId", claim.id).option("txnVersion", batch_id).save(path)


def _messages(batch: DataFrame, options: DedupeJobOptions) -> DataFrame:
    """Rows for the Kafka sink: key, value and headers as they came, in the order of the source."""
    topic = F.concat(F.lit(options.topic_prefix), "topic")
    if options.topic is not None:
        topic = F.lit(options.topic)
    ordered = batch.repartition("topic", "partition").sortWithinPartitions(
        "topic", "partition", "offset"
    )
    place = ["partition"] if options.partition_by == "source" else []
    return ordered.select(topic.alias("topic"), "key", "value", "headers", *place)
