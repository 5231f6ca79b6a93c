"""Runs a job, and its streaming query to the end: reports each micro-batch once, maps failures.

Python polls the progress while it waits for the query, so the JVM never calls back into Python
during a micro-batch.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs.errors import mapped_error
from spark_jobs.options.job import SessionOptions, StreamOptions
from spark_jobs.session import create_job_session
from spark_jobs.terminal import Show, progress_line

_POLL_S = 1
_BEHIND = "maxOffsetsBehindLatest"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The last micro-batch of a job, or the last step of a job without a streaming query."""

    duration_s: float
    records_behind: int | None = None
    """Records that it left in the topic partition with most of them; None if unknown."""


def micro_batch(progress: Mapping[str, Any]) -> MicroBatch:
    """The micro-batch of a `StreamingQueryProgress`."""
    behind = [
        int(source["metrics"][_BEHIND])
        for source in progress["sources"]
        if _BEHIND in (source.get("metrics") or {})
    ]
    return MicroBatch(progress["batchDuration"] / 1000, max(behind, default=None))


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set while the block runs."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """What a job runs with."""

    session: SparkSession
    stop: threading.Event
    """Set by SIGTERM and SIGINT."""
    show: Show
    """Shows the progress on a terminal."""


@contextmanager
def start_job(name: str, options: SessionOptions) -> Iterator[RunningJob]:
    """Start a session with the options of a job; it ends with the block."""
    with (
        create_job_session(f"cdc-{name}", options) as session,
        stop_on_signals() as stop,
        progress_line(name) as show,
    ):
        yield RunningJob(session, stop, show)


def start_query(writer: DataStreamWriter, name: str, options: StreamOptions) -> StreamingQuery:
    """Start a query with the checkpoint and the trigger of the options."""
    named = writer.queryName(name).option("checkpointLocation", options.checkpoint)
    return named.trigger(**options.trigger_arguments()).start()


def follow(
    query: StreamingQuery,
    on_progress: Callable[[Mapping[str, Any]], None],
    *,
    tick: Callable[[], object] = lambda: None,
    verify: Callable[[], object] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Wait until a query ends, or stop it when `stop` is set.

    `on_progress` receives the progress of every micro-batch once, in order. `tick` is called about
    once a second, `verify` after micro-batches. An exception of any of them stops the query. A
    failure of the query is raised as the error of its cause (`mapped_error`).
    """
    reported = _ReportedProgress()
    try:
        has_ended = False
        while not has_ended:
            if stop is not None and stop.is_set():
                query.stop()
            has_ended = bool(query.awaitTermination(_POLL_S))
            if reported.report_new(query, on_progress):
                verify()
            tick()
    except StreamingQueryException as error:
        reported.report_new(query, on_progress)
        mapped = mapped_error(error)
        if mapped is error:
            raise
        raise mapped from error
    finally:
        query.stop()


class _ReportedProgress:
    """Remembers the last progress that was reported.

    Spark lists the recent ones in order. Their times are those of the driver's clock, which can be
    set back, so they only tell one from another.
    """

    def __init__(self) -> None:
        self._last: tuple[Any, Any] | None = None

    def report_new(
        self, query: StreamingQuery, on_progress: Callable[[Mapping[str, Any]], None]
    ) -> bool:
        """Whether there was new progress."""
        recent = query.recentProgress
        known = [(each["batchId"], each["timestamp"]) for each in recent]
        done = known.index(self._last) + 1 if self._last in known else 0
        for name, progress in zip(known[done:], recent[done:], strict=True):
            self._last = name
            on_progress(progress)
        return done < len(recent)
