"""The last micro-batch, read from Spark's progress."""

import io
import logging
import os
import signal
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from spark_jobs.progress import (
    MicroBatch,
    follow,
    micro_batch,
    no_line,
    progress_bar,
    progress_line,
    stop_on_signals,
)

KAFKA = {"metrics": {"maxOffsetsBehindLatest": "12", "avgOffsetsBehindLatest": "4.0"}}


def test_largest_partition_lag_counts() -> None:
    other = {"metrics": {"maxOffsetsBehindLatest": "3"}}
    assert micro_batch({"batchDuration": 1500, "sources": [other, KAFKA]}) == MicroBatch(1.5, 12)


def test_sources_without_lag_metric_have_no_lag() -> None:
    sources = [{"metrics": {}}, {"metrics": None}, {}]
    assert micro_batch({"batchDuration": 20, "sources": sources}) == MicroBatch(0.02, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_signal_requests_job_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
    assert signal.getsignal(number) is before


class FakeQuery:
    """A query that ends after its last batch; its recent progress has at most `kept` entries."""

    def __init__(self, rounds: list[list[str]], kept: int) -> None:
        self._rounds = rounds
        self._kept = kept
        self.all: list[dict[str, Any]] = []

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802
        return self.all[-self._kept :]

    def awaitTermination(self, _timeout: int) -> bool:  # noqa: N802
        for time in self._rounds.pop(0) if self._rounds else ():
            self.all.append({"batchId": len(self.all), "timestamp": time})
        return not self._rounds

    def stop(self) -> None:
        pass


@given(st.lists(st.lists(st.sampled_from(["09:00", "09:01", "09:02"]), max_size=5)))
def test_each_micro_batch_is_reported_once_despite_clock(rounds: list[list[str]]) -> None:
    query, found = FakeQuery(rounds, kept=5), list[Any]()
    follow(cast(StreamingQuery, query), found.append)
    assert found == query.all


def test_progress_line_shows_latest_text_in_terminal() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100)
    handlers = logging.getLogger().handlers[:]
    with progress_line("tables", console) as show:
        show("[3] batches")
    assert "tables: [3] batches" in written.getvalue()
    assert logging.getLogger().handlers == handlers


def test_progress_line_is_silent_without_terminal() -> None:
    written = io.StringIO()
    with progress_line("tables", Console(file=written)) as show:
        show("3 batches")
    assert show is no_line
    assert written.getvalue() == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_bar_requires_terminal(is_terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, width=80)
    with progress_bar(console) as on_read:
        on_read("token ranges", 8, 16)
        on_read("token ranges", 16, 16)
        on_read("rows of ranges", 1, 1)
    text = out.getvalue()
    if is_terminal:
        assert "16/16" in text
        assert "rows of ranges" in text
    else:
        assert text.strip() == ""
