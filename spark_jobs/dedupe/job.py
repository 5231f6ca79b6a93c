"""The job: topics in, one copy of each event out, until there is nothing more or it is stopped."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from sidecar.logs import fields
from spark_jobs.checkpoint import JobIdentity, claim
from spark_jobs.dedupe import query
from spark_jobs.dedupe.figures import Batch, Figures, batch_of
from spark_jobs.dedupe.job_options import DedupeJobOptions
from spark_jobs.dedupe.telling import Telling
from spark_jobs.errors import JobError
from spark_jobs.progress import follow, stopping_on_signals
from spark_jobs.session import create_session, session_of_job
from spark_jobs.source import read_stream
from spark_jobs.storage import Folder

logger = logging.getLogger(__name__)

REPLICAS_FILE = "cdc-replicas.json"
"""In the checkpoint: when each node was heard last, so that silence is known from run to run."""

_SAVE_EVERY_MS = 60_000


def main(options: DedupeJobOptions) -> None:
    """Run in a session of its own and print the summary."""
    session = create_session(
        "cdc-dedupe", settings=options.spark_settings(), jars=options.jars_directory
    )
    try:
        with stopping_on_signals() as stop:
            figures = run(session, options, stop=stop)
        print(figures.summary(_now_ms(), options.silent_after_ms))
    finally:
        session.stop()


def run(
    session: SparkSession, options: DedupeJobOptions, *, stop: threading.Event | None = None
) -> Figures:
    """Run to the end of the trigger, or until `stop` is set.

    Raises `CheckpointError`, `InputError`, or what Spark raises.
    """
    session = session_of_job(session, options.state_partitions)
    identity = JobIdentity("dedupe", options.subscription(), options.fixed())
    claimed = claim(session, options.checkpoint, identity)
    follower = _Follower(session, options)
    records = read_stream(session, options, is_limited=options.trigger != "once")
    started = query.start(records, options, claimed)
    logger.info(
        "dedupe runs",
        extra=fields(topics=identity.topics, identity=options.identity, new=claimed.is_new),
    )
    try:
        follow(started, follower.batch, turn=follower.turn, stop=stop)
    finally:
        follower.save()
    return follower.figures


class _Follower:
    """Sums up the run and tells of it."""

    def __init__(self, session: SparkSession, options: DedupeJobOptions) -> None:
        self._folder = Folder(session, options.checkpoint)
        self._telling = Telling(options, silent_after_ms=options.silent_after_ms)
        self._saved_ms = 0
        self.figures = Figures(node_seen_ms=self._load())

    def batch(self, progress: Mapping[str, Any]) -> None:
        batch = batch_of(progress)
        self.figures = self.figures.after(batch)
        self._telling.batch(batch, self.figures)
        self._telling.state(self.figures, _now_ms())
        refuse_late_rows(batch)

    def turn(self) -> None:
        now_ms = _now_ms()
        if now_ms - self._saved_ms >= _SAVE_EVERY_MS:
            self.save()

    def save(self) -> None:
        """The figures to where they are watched, the replicas to the checkpoint."""
        self._saved_ms = _now_ms()
        self._telling.state(self.figures, self._saved_ms)
        self._folder.write_text(REPLICAS_FILE, json.dumps(dict(self.figures.node_seen_ms)) + "\n")

    def _load(self) -> dict[str, int]:
        if not self._folder.exists(REPLICAS_FILE):
            return {}
        seen: dict[str, int] = json.loads(self._folder.read_text(REPLICAS_FILE))
        return seen


def refuse_late_rows(batch: Batch) -> None:
    """Raises `JobError` for a micro-batch that was read at a time before those it follows."""
    if batch.late_rows:
        raise JobError(
            f"Micro-batch {batch.batch_id} dropped {batch.late_rows} records, because the driver's "
            "clock stands more than half of `ttl.ms` behind where it stood before: correct the "
            "clock, and read the topics again with another checkpoint."
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
