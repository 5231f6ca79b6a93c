"""A worker thread, from `with` to its end."""

import threading

from sidecar.process.lifecycle import Worker


def test_worker_runs_until_stopped() -> None:
    rounds = threading.Event()

    def work(stopped: threading.Event) -> None:
        while not stopped.wait(0.001):
            rounds.set()

    with Worker("test", work) as worker:
        assert rounds.wait(60)
        assert not worker.is_stopping
    assert worker.is_stopping


def test_hanging_worker_does_not_delay_the_end() -> None:
    hangs = threading.Event()

    def work(stopped: threading.Event) -> None:
        hangs.wait(60)

    try:
        with Worker("test", work, join_s=0.0) as worker:
            pass
        assert worker.is_alive
    finally:
        hangs.set()
