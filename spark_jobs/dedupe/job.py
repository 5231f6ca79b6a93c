"""Reads topics and writes one copy of each event, until the trigger ends or a signal arrives.

One query serves all sinks, so Spark reads the topics once and keeps one state. Delta's own
streaming sink writes a single Delta table. Otherwise, the query computes each micro-batch once and
writes it to one sink after the other. Delta recognizes a repeated micro-batch by the checkpoint's
id and the batch number, and skips it.
"""

import json
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sidecar.logs import fields
from spark_jobs import metrics_files
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.dedupe.replica_copies import dedupe
from spark_jobs.dedupe.stats import INPUT, OUTPUT, BatchStats, Reporter, RunStats, batch_stats
from spark_jobs.delta_table import append_batch
from spark_jobs.errors import JobError
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import (
    MicroBatch,
    Show,
    follow,
    micro_batch,
    no_line,
    start_job,
    start_query,
)
from spark_jobs.session import isolate_session
from spark_jobs.session_conf import job_description
from spark_jobs.source.events import EVENT_COLUMNS, InvalidRecords, events
from spark_jobs.source.kafka import open_source
from spark_jobs.storage import Folder, OwnedCheckpoint

_TABLE_COLUMNS = tuple(name for name in EVENT_COLUMNS if name != "headers")
logger = logging.getLogger(__name__)
_JOB = "dedupe"
REPLICAS_FILE = "cdc-replicas.json"
"""File in the checkpoint that stores, across runs, when each node's latest record arrived."""
_SAVE_INTERVAL_MS = 60_000


def start_dedupe(
    records: DataFrame, options: DedupeJobOptions, checkpoint: OwnedCheckpoint
) -> StreamingQuery:
    """Start the query on records of the Kafka source."""
    writer = _writer(_observe_events(records, options), options, checkpoint)
    return start_query(writer.outputMode("append"), _JOB, options)


def _observe_events(records: DataFrame, options: DedupeJobOptions) -> DataFrame:
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
                # Spark may repeat the last micro-batch of an earlier run. If Delta skips it, Delta
                # does not compute it, and Spark would not store its state.
                with _describe(batch, batch_id, "drop replica copies"):
                    batch.count()
            _write_batch(batch, batch_id, options, checkpoint)
        finally:
            batch.unpersist()
        is_first = False

    return rows.writeStream.foreachBatch(write)


def _write_batch(
    batch: DataFrame, batch_id: int, options: DedupeJobOptions, checkpoint: OwnedCheckpoint
) -> None:
    """Write to Delta first: Delta skips a repeated batch, but Kafka would store it twice."""
    if options.dead_letter_path is not None:
        with _describe(batch, batch_id, "append invalid records"):
            invalid = InvalidRecords(options.dead_letter_path, checkpoint.id)
            invalid.append(batch.where("id is null"), batch_id)
        batch = batch.where("id is not null")
    if options.delta_path is not None:
        with _describe(batch, batch_id, "append to Delta"):
            rows = batch.select(*_TABLE_COLUMNS)
            append_batch(rows, options.delta_path, checkpoint.id, batch_id)
    if "kafka" in options.sinks:
        settings = options.producer_settings()
        with _describe(batch, batch_id, "send to Kafka"):
            _messages(batch, options).write.format("kafka").options(**settings).save()


def _describe(batch: DataFrame, batch_id: int, what: str) -> AbstractContextManager[None]:
    return job_description(batch.sparkSession, f"dedupe: {what}, micro-batch {batch_id}")


def _messages(batch: DataFrame, options: DedupeJobOptions) -> DataFrame:
    """Rows for the Kafka sink, with the key, value, headers and order of the source."""
    topic = F.concat(F.lit(options.topic_prefix), "topic")
    if options.topic is not None:
        topic = F.lit(options.topic)
    ordered = batch.repartition("topic", "partition").sortWithinPartitions(
        "topic", "partition", "offset"
    )
    partition = ["partition"] if options.partition_by == "source" else []
    return ordered.select(topic.alias("topic"), "key", "value", "headers", *partition)


def main(options: DedupeJobOptions) -> JobReport:
    with start_job(_JOB, options) as job:
        stats = run(job.session, options, stop=job.stop, show=job.show)
        now_ms = _now_ms()
        message = stats.summary(now_ms, options.replica_idle_timeout_ms)
        return JobReport(message, stats.as_json(now_ms))


def run(
    session: SparkSession,
    options: DedupeJobOptions,
    *,
    stop: threading.Event | None = None,
    show: Show = no_line,
) -> RunStats:
    """Run until the trigger ends or `stop` is set. Raises `CheckpointError` or `InputError`."""
    session = isolate_session(session, options.state_partitions)
    checkpoint, topics, records = open_source(
        session, options, _JOB, options.fixed(), compacted="warn"
    )
    progress = _RunProgress(session, options, show)
    query = start_dedupe(records, options, checkpoint)
    given = {"topics": options.subscription(), "identity": options.identity}
    logger.info("dedupe started", extra=fields(**given, new=checkpoint.is_new))
    with metrics_files.final_report(lambda failed: progress.save(has_failed=failed)):
        follow(query, progress.add, tick=progress.tick, verify=topics.verify, stop=stop)
    return progress.stats


class _RunProgress:
    """Sums the micro-batches of a run, reports them, and stores when each node was last seen."""

    def __init__(self, session: SparkSession, options: DedupeJobOptions, show: Show) -> None:
        self._folder = Folder(session, options.checkpoint)
        self._reporter = Reporter(options)
        self._saved_ms = 0
        self._show = show
        self._last: MicroBatch | None = None
        self.stats = RunStats(node_seen_ms=json.loads(self._folder.read_text(REPLICAS_FILE, "{}")))

    def add(self, progress: Mapping[str, Any]) -> None:
        batch = batch_stats(progress)
        self.stats = self.stats.plus(batch)
        self._last = micro_batch(progress)
        self._show(f"{self.stats.records:,} records read, {self.stats.events:,} events written")
        self._reporter.report_batch(batch, self.stats)
        self._reporter.report_run(self.stats, _now_ms(), self._last)
        reject_late_rows(batch)

    def tick(self) -> None:
        now_ms = _now_ms()
        if now_ms - self._saved_ms >= _SAVE_INTERVAL_MS:
            self.save()

    def save(self, *, has_failed: bool = False) -> None:
        """Report the run, and store in the checkpoint when each node was last seen."""
        self._saved_ms = _now_ms()
        self._reporter.report_run(self.stats, self._saved_ms, self._last, has_failed=has_failed)
        self._folder.write_text(REPLICAS_FILE, json.dumps(dict(self.stats.node_seen_ms)) + "\n")


def reject_late_rows(batch: BatchStats) -> None:
    """Raise `JobError` for dropped late rows: only a clock that was set back causes them."""
    if batch.late_rows:
        raise JobError(
            f"Micro-batch {batch.batch_id} dropped {batch.late_rows} records, because the driver's "
            "clock was set back by more than half of `ttl.ms`. Correct the clock, and read the "
            "topics again with a new checkpoint."
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
