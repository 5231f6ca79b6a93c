"""The last micro-batch, from Spark's progress."""

import os
import signal

import pytest

from spark_jobs.progress import MicroBatch, micro_batch, stop_on_signals

KAFKA = {"metrics": {"maxOffsetsBehindLatest": "12", "avgOffsetsBehindLatest": "4.0"}}


def test_the_partition_that_is_furthest_behind_counts() -> None:
    other = {"metrics": {"maxOffsetsBehindLatest": "3"}}
    assert micro_batch({"batchDuration": 1500, "sources": [other, KAFKA]}) == MicroBatch(1.5, 12)


def test_other_sources_do_not_know_it() -> None:
    sources = [{"metrics": {}}, {"metrics": None}, {}]
    assert micro_batch({"batchDuration": 20, "sources": sources}) == MicroBatch(0.02, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_a_job_to_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
    assert signal.getsignal(number) is before
