"""A thread beside the loop, from `with` to its end."""

import threading

from sidecar.process.lifecycle import Worker


def test_the_work_runs_until_it_is_asked_to_stop() -> None:
    rounds = threading.Event()

    def work(stopped: threading.Event) -> None:
        while not stopped.wait(0.001):
            rounds.set()

    with Worker("test", work) as worker:
        assert rounds.wait(60)
        assert not worker.is_stopping
    assert worker.is_stopping


def test_work_that_hangs_does_not_delay_the_end() -> None:
    hangs = threading.Event()

    def work(stopped: threading.Event) -> None:
        hangs.wait(60)

    try:
        with Worker("test", work, join_s=0.0) as worker:
            pass
        assert worker.is_alive
    finally:
        hangs.set()
