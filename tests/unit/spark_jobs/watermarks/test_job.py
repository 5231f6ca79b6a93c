"""The job evaluates the watermarks once, or until it is stopped."""

import threading

from spark_jobs.options.command_line import JobReport
from spark_jobs.watermarks.job import repeated


def test_an_evaluation_is_repeated_until_the_job_is_stopped() -> None:
    stop, count, shown = threading.Event(), 0, list[str]()

    def evaluate() -> JobReport:
        nonlocal count
        count += 1
        if count == 3:
            stop.set()
        return JobReport(f"{count}\n", {})

    assert repeated(evaluate, 0, stop, shown.append).message == "3\n"
    assert shown == ["1 ", "2 "]
    assert repeated(evaluate, None, threading.Event(), shown.append).message == "4\n"
