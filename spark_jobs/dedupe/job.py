"""The job: reads topics and writes one copy of each event, until the trigger ends or a signal."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs import metrics_files
from spark_jobs.checkpoint_owner import CheckpointOwner, acquire_checkpoint
from spark_jobs.dedupe import query
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.dedupe.reporter import Reporter
from spark_jobs.dedupe.stats import BatchStats, RunStats, batch_stats
from spark_jobs.errors import JobError
from spark_jobs.options.command_line import JobReport
from spark_jobs.progress import MicroBatch, follow, micro_batch, start_job
from spark_jobs.session import isolated_session
from spark_jobs.source.kafka import SourceTopics, read_stream
from spark_jobs.storage import Folder
from spark_jobs.terminal import Show, no_line

logger = logging.getLogger(__name__)

REPLICAS_FILE = "cdc-replicas.json"
"""File in the checkpoint with the time of the last record of each node, across runs."""

_SAVE_INTERVAL_MS = 60_000


def main(options: DedupeJobOptions) -> JobReport:
    """Run in a new session; the report has the summary."""
    with start_job("dedupe", options) as job:
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
    """Run until the trigger ends or `stop` is set.

    Raises `CheckpointError`, `InputError`, or an exception of Spark.
    """
    session = isolated_session(session, options.state_partitions)
    owner = CheckpointOwner("dedupe", options.subscription(), options.fixed())
    checkpoint = acquire_checkpoint(session, options.checkpoint, owner)
    progress = _RunProgress(session, options, show)
    topics = SourceTopics(session, options, options.checkpoint, compacted="warn")
    records = read_stream(session, options, is_limited=options.trigger != "once")
    started = query.start(records, options, checkpoint)
    logger.info(
        "dedupe started",
        extra=fields(topics=owner.topics, identity=options.identity, new=checkpoint.is_new),
    )
    with metrics_files.final_report(lambda failed: progress.save(has_failed=failed)):
        follow(started, progress.add, tick=progress.tick, verify=topics.verify, stop=stop)
    return progress.stats


class _RunProgress:
    """Sums the micro-batches of a run, reports them, and stores when each node was last seen."""

    def __init__(self, session: SparkSession, options: DedupeJobOptions, show: Show) -> None:
        self._folder = Folder(session, options.checkpoint)
        self._reporter = Reporter(options, replica_idle_timeout_ms=options.replica_idle_timeout_ms)
        self._saved_ms = 0
        self._show = show
        self._last: MicroBatch | None = None
        self.stats = RunStats(node_seen_ms=self._load())

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
        """Report the run, and store the replicas in the checkpoint."""
        self._saved_ms = _now_ms()
        self._reporter.report_run(self.stats, self._saved_ms, self._last, has_failed=has_failed)
        self._folder.write_text(REPLICAS_FILE, json.dumps(dict(self.stats.node_seen_ms)) + "\n")

    def _load(self) -> dict[str, int]:
        if not self._folder.exists(REPLICAS_FILE):
            return {}
        seen: dict[str, int] = json.loads(self._folder.read_text(REPLICAS_FILE))
        return seen


def reject_late_rows(batch: BatchStats) -> None:
    """Raise `JobError` for a micro-batch that Spark read at an earlier time than its predecessor.

    That happens only if the driver's clock was set back. Spark drops the late rows.
    """
    if batch.late_rows:
        raise JobError(
            f"Micro-batch {batch.batch_id} dropped {batch.late_rows} records, because the driver's "
            "clock was set back by more than half of `ttl.ms`. Correct the clock, and read the "
            "topics again with a new checkpoint."
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
