"""Stores the events of Kafka topics, one micro-batch after the other."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Gauge
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sidecar.logs import fields
from spark_jobs import metrics_files
from spark_jobs.options.command_line import JobReport
from spark_jobs.options.job import StreamOptions
from spark_jobs.progress import MicroBatch, follow, micro_batch, start_job, start_query
from spark_jobs.reconcile.compaction import compact
from spark_jobs.reconcile.options import ReconcileOptions, TableOptions
from spark_jobs.reconcile.selected_tables import READ, SelectedTables, read_tables
from spark_jobs.reconcile.source_table import SourceSchema
from spark_jobs.reconcile.store import Batch, Offsets, StoreSize, VersionStore
from spark_jobs.reconcile.store.commits import offsets_of_batch
from spark_jobs.session import isolate_session
from spark_jobs.session_conf import job_description
from spark_jobs.source.events import RAW_COLUMNS, InvalidRecords, events, place_of
from spark_jobs.source.kafka import open_source
from spark_jobs.storage import Folder

JOB = "reconcile"
_PREFIX = "cdc_reconcile_"
_HELP_TEXTS = {
    "micro_batches": "Micro-batches that read at least one record.",
    "records": "Records read, including replica copies.",
    "compacted_buckets": "Buckets compacted.",
}
_STORE_TEXTS = {
    "bytes": "Bytes of the current version of a version store.",
    "files": "Data files of the current version of a version store.",
    "rows": "Rows of the current version of a version store: events and merged states.",
}
logger = logging.getLogger(__name__)
_FORMAT = "2"
"""A checkpoint of a different format has read events that the store does not contain."""
_SIZE_INTERVAL_S = 60
_FAIL = InvalidRecords()


@dataclass(frozen=True, slots=True)
class RunStats:
    micro_batches: int = 0
    records: int = 0
    compacted_buckets: int = 0
    last: MicroBatch | None = None
    store: StoreSize | None = None
    """The size of the store, if it was measured."""

    def plus(self, progress: Mapping[str, Any]) -> "RunStats":
        """Add a micro-batch, given its progress."""
        records = progress["numInputRows"]
        return replace(
            self,
            micro_batches=self.micro_batches + (records > 0),
            records=self.records + records,
            last=micro_batch(progress),
        )

    def sums(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in _HELP_TEXTS}

    def as_json(self) -> dict[str, Any]:
        return {
            **self.sums(),
            "last": None if self.last is None else asdict(self.last),
            "store": None if self.store is None else asdict(self.store),
        }

    def __str__(self) -> str:
        return (
            f"{self.records} records in {self.micro_batches} micro-batches, "
            f"{self.compacted_buckets} buckets compacted"
        )


def write(options: StreamOptions, stats: RunStats, has_failed: bool) -> None:
    registry, last = registry_of(stats), stats.last
    metrics_files.write(
        options, stats.as_json(), registry, job=JOB, last=last, has_failed=has_failed
    )


def registry_of(stats: RunStats) -> CollectorRegistry:
    registry = metrics_files.counters(_PREFIX, stats.sums(), _HELP_TEXTS)
    if stats.store is not None:
        for name, value in asdict(stats.store).items():
            Gauge(f"cdc_store_{name}", _STORE_TEXTS[name], registry=registry).set(value)
    return registry


Report = Callable[[RunStats, bool], None]
"""Receives the statistics of a run, and whether it has failed."""


def open_store(session: SparkSession, options: TableOptions) -> VersionStore:
    """Open the version store at `output`, or create it."""
    return VersionStore(
        session,
        options.output,
        buckets=options.buckets,
        max_uncompacted_files=options.compact_after_files,
    )


def reconcile(
    records: DataFrame, store: VersionStore, tables: SelectedTables, batch: Batch | None = None
) -> None:
    """Write the events of a batch DataFrame. Order and repetitions do not matter.

    `records` has a column `value`. Error messages also use `topic`, `partition` and `offset`.
    """
    store.append(tables.events(records), batch)


def main(options: ReconcileOptions) -> JobReport:
    # Before Spark starts, so that an invalid schema fails at once.
    read_tables(options)
    with start_job(JOB, options) as job:

        def report(stats: RunStats, has_failed: bool) -> None:
            write(options, stats, has_failed)
            job.show(str(stats))

        stats = run(job.session, options, report=report, stop=job.stop)
        return JobReport(str(stats), stats.as_json())


def run(
    session: SparkSession,
    options: ReconcileOptions,
    *,
    tick: Callable[[], object] = lambda: None,
    report: Report | None = None,
    stop: threading.Event | None = None,
) -> RunStats:
    """Run until the trigger ends or `stop` is set.

    `tick` is called about once a second, and once at the end, in the thread of the caller.
    `report` is called after `tick`; by default, it writes the configured files.
    Raises `ConfigError`, `CheckpointError`, `InputError`, or an exception of Spark.
    """
    schema, tables = read_tables(options)
    session = isolate_session(session, options.state_partitions)
    # Opened first, because its errors state the remedy for an old format.
    store = open_store(session, options)
    fixed = {"output": options.output, "format": _FORMAT, "buckets": str(options.buckets)}
    checkpoint, topics, records = open_source(
        session, options, JOB, fixed, compacted="reject", store_id=store.id
    )
    invalid = InvalidRecords(options.dead_letter_path, checkpoint.id)
    job = StreamingReconcile(store, schema, tables, checkpoint.id, options.history_s, invalid)
    # Spark computes every column of a micro-batch, even unused columns.
    if invalid.path is None:
        stream = events(records).select(*READ)
    else:
        stream = events(records, keep_invalid=True).select("id", *RAW_COLUMNS, "error")
    verify = topics.verify
    return job.run(stream, options, tick=tick, report=report, verify=verify, stop=stop)


class StreamingReconcile:
    """Writes a stream of events to a version store.

    A micro-batch is durable before Spark commits it. After a crash, Spark may repeat the batch; the
    store recognizes its number and skips it.
    """

    def __init__(
        self,
        store: VersionStore,
        schema: SourceSchema,
        tables: SelectedTables,
        app: str,
        history_s: int = 0,
        invalid: InvalidRecords = _FAIL,
    ) -> None:
        """If `invalid` has a path, streams must contain `RAW_COLUMNS` and `error`."""
        self._invalid = invalid
        self._store = store
        self._schema = schema
        self._tables = tables
        self._app = app
        self._history_s = history_s
        self._stats = RunStats()
        self._sized_s = 0.0

    def run(
        self,
        stream: DataFrame,
        options: StreamOptions,
        *,
        tick: Callable[[], object] = lambda: None,
        report: Report | None = None,
        verify: Callable[[], object] = lambda: None,
        stop: threading.Event | None = None,
    ) -> RunStats:
        """Process the stream until its trigger ends or `stop` is set, as `run` does."""
        has_files = metrics_files.is_configured(options)
        offset_log = Folder(self._store.session, f"{options.checkpoint}/offsets")

        def write_batch(frame: DataFrame, number: int) -> None:
            self._write(frame, number, offsets_of_batch(offset_log.read_text(str(number))))

        query = start_query(stream.writeStream.foreachBatch(write_batch), JOB, options)
        logger.info("reconcile started", extra=fields(checkpoint=options.checkpoint))

        def on_progress(progress: Mapping[str, Any]) -> None:
            self._stats = self._stats.plus(progress)
            if has_files and time.monotonic() - self._sized_s > _SIZE_INTERVAL_S:
                self._measure_store()

        send = report or partial(write, options)

        def tick_and_send() -> None:
            tick()
            send(self._stats, False)

        with metrics_files.final_report(lambda has_failed: send(self._stats, has_failed)):
            follow(query, on_progress, tick=tick_and_send, verify=verify, stop=stop)
            if has_files:
                self._measure_store()
        return self._stats

    def _write_valid(self, records: DataFrame, batch: Batch) -> None:
        """Store the valid events, and append the other records to the dead letters."""
        cached = records.persist(StorageLevel.DISK_ONLY)
        try:
            valid, rejected = self._tables.split(cached.where(F.col("error").isNull()))
            has_place = place_of(cached).eqNullSafe(F.col("place"))
            rejected = cached.drop("error").join(F.broadcast(rejected), has_place).drop("place")
            invalid = cached.where(F.col("error").isNotNull())
            self._invalid.append(invalid.unionByName(rejected), batch.number)
            self._store.append(valid, batch)
        finally:
            cached.unpersist()

    def _measure_store(self) -> None:
        with job_description(self._store.session, "reconcile: measure the store"):
            self._stats = replace(self._stats, store=self._store.size())
        self._sized_s = time.monotonic()

    def _write(self, frame: DataFrame, number: int, offsets: Offsets) -> None:
        session = self._store.session
        with job_description(session, f"reconcile: append micro-batch {number}"):
            batch = Batch(self._app, number, offsets)
            if self._invalid.path is None:
                reconcile(frame, self._store, self._tables, batch)
            else:
                self._write_valid(frame, batch)
        # In the same thread as the writes, so compaction never conflicts with them.
        with job_description(session, f"reconcile: compact after micro-batch {number}"):
            compacted = compact(self._store, self._schema, int(time.time()), self._history_s)
        if compacted:
            logger.info("buckets compacted", extra=fields(batch=number, buckets=compacted))
            total = self._stats.compacted_buckets + compacted
            self._stats = replace(self._stats, compacted_buckets=total)
