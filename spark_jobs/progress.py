"""Runs a job and its streaming query, reports each micro-batch once, and maps failures.

Python polls the progress while it waits for the query, so the JVM never calls back into Python
during a micro-batch.
"""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spark_jobs.errors import mapped_error
from spark_jobs.options.job import SessionOptions, StreamOptions
from spark_jobs.session import create_job_session

Show = Callable[[str], None]
"""Replaces the text of the progress line."""
OnRead = Callable[[str, int, int], None]
"""Called with the phase, the number of finished ranges, and the total number of ranges."""
_POLL_S = 1
_BEHIND = "maxOffsetsBehindLatest"


def no_line(text: str) -> None:
    """Show nothing."""


@contextmanager
def progress_line(job: str, console: Console | None = None) -> Iterator[Show]:
    """Show a line on standard error while the block runs, if standard error is a terminal."""
    console = console or Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield no_line
        return
    with console.status(f"{job}: starting …") as status, _log_above():
        yield lambda text: status.update(f"{job}: {escape(text)}")


@contextmanager
def _log_above() -> Iterator[None]:
    """Print log lines through `sys.stderr`, which rich replaces to keep its line at the bottom."""
    handlers = [
        (handler, handler.stream)
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.__stderr__
    ]
    for handler, _ in handlers:
        handler.setStream(sys.stderr)
    try:
        yield
    finally:
        for handler, stream in handlers:
            handler.setStream(stream)


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[OnRead]:
    """Show a bar for each phase, if standard error is a terminal."""
    console = console or Console(file=sys.stderr)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        tasks = {}

        def on_read(what: str, done: int, ranges: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=ranges)
            bar.update(tasks[what], completed=done)

        yield on_read


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The latest micro-batch of a job, or the latest step of a job without a streaming query."""

    duration_s: float
    records_behind: int | None = None
    """Records still unread, in the topic partition with the most of them; None if unknown."""


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
    """Yield an event that SIGTERM and SIGINT set while the block runs."""
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
    """The session of a running job, and its connection to signals and the terminal."""

    session: SparkSession
    stop: threading.Event
    """Set by SIGTERM and SIGINT."""
    show: Show


@contextmanager
def start_job(name: str, options: SessionOptions) -> Iterator[RunningJob]:
    """Start a session with the options of a job, and stop it after the block."""
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
    once a second, `verify` after micro-batches. An exception from any of them stops the query. If
    the query fails, raises the error of `mapped_error`.
    """
    last: tuple[Any, Any] | None = None

    def report_new() -> bool:
        """Report new progress. Returns whether there was any.

        Spark lists recent progress in order. Its timestamps come from the driver's clock, which can
        be set back, so they only identify the progress.
        """
        nonlocal last
        recent = query.recentProgress
        known = [(each["batchId"], each["timestamp"]) for each in recent]
        done = known.index(last) + 1 if last in known else 0
        for name, progress in zip(known[done:], recent[done:], strict=True):
            last = name
            on_progress(progress)
        return done < len(recent)

    try:
        has_ended = False
        while not has_ended:
            if stop is not None and stop.is_set():
                query.stop()
            has_ended = bool(query.awaitTermination(_POLL_S))
            if report_new():
                verify()
            tick()
    except StreamingQueryException as error:
        report_new()
        mapped = mapped_error(error)
        if mapped is error:
            raise
        raise mapped from error
    finally:
        query.stop()
