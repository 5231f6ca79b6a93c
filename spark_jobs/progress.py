"""Following a streaming query: the progress of each micro-batch once, failures for people.

Progress is polled where the job waits for the query anyway, so no call comes from the JVM into
Python while micro-batches run.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.faults import known_fault

_POLL_S = 1


@contextmanager
def stopping_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set while the block runs."""
    asked = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: asked.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def follow(
    query: StreamingQuery,
    each: Callable[[Mapping[str, Any]], None],
    *,
    turn: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Wait for the end of a query, or stop it when `stop` is set.

    `each` gets the progress of every micro-batch once, in order; `turn` is called about every
    second. What either raises stops the query. Raises what stands behind a failure of the query.
    """
    seen = _Seen()
    try:
        has_ended = False
        while not has_ended:
            if stop is not None and stop.is_set():
                query.stop()
            has_ended = bool(query.awaitTermination(_POLL_S))
            seen.hand_over(query, each)
            turn()
    except StreamingQueryException as error:
        seen.hand_over(query, each)
        fault = known_fault(error)
        if fault is error:
            raise
        raise fault from error
    finally:
        query.stop()


class _Seen:
    """Which progress was handed over."""

    def __init__(self) -> None:
        self._last = ""

    def hand_over(self, query: StreamingQuery, each: Callable[[Mapping[str, Any]], None]) -> None:
        for progress in query.recentProgress:
            # The form of the timestamp is fixed, so its text is in the order of time.
            if progress["timestamp"] > self._last:
                self._last = progress["timestamp"]
                each(progress)
