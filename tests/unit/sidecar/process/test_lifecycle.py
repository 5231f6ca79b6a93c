"""Signals, deadlines and exit codes; signal tests use separate processes."""

import logging
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from sidecar.errors import AccessDeniedError, ConfigError, LockedError, SinkError
from sidecar.process.lifecycle import PartStop, Stop, exit_code, run
from tests.support.servers.processes import wait_until

PROGRAM = """
import sys, time
from sidecar.process.lifecycle import Stop, run
from sidecar.logs import configure

class Service:
    def run(self, stop: Stop) -> None:
        print("runs", flush=True)
        while not stop.wait(60):
            pass
        print("stops", flush=True)
        if sys.argv[1] == "stubborn":
            while True:
                time.sleep(0.01)
        print("drained", stop.remaining_s > 50, flush=True)

configure("text", "info")
sys.exit(run(Service(), 60_000))
"""


@contextmanager
def program(kind: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        yield process
        if process.poll() is None:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_service_with_time_to_drain(number: signal.Signals) -> None:
    with program("obedient") as process:
        process.send_signal(number)
        out, err = process.communicate()
        assert (out, err, process.returncode) == ("stops\ndrained True\n", "", 0)


def test_second_signal_ends_process_immediately() -> None:
    with program("stubborn") as process:
        process.terminate()
        assert process.stdout is not None
        assert process.stdout.readline() == "stops\n"
        process.terminate()
        assert process.wait() == -signal.SIGTERM


def test_deadline_ends_a_hanging_service(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.process.lifecycle._GRACE_S", 0.01)
    released = threading.Event()
    codes = []

    def work(stop: Stop) -> None:
        stop.request()
        released.wait()

    def exit_now(code: int) -> None:
        codes.append(code)
        released.set()

    run(SimpleNamespace(run=work), 1, exit_now=exit_now)
    assert codes == [1]
    assert "did not stop within its deadline" in caplog.text


def run_failing(error: Exception) -> int:
    def work(stop: Stop) -> None:
        raise error

    return run(SimpleNamespace(run=work), 1000)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SinkError("the sink is broken."), 1),
        (ConfigError("first.", "second."), 2),
        (LockedError("it is locked."), 3),
        (AccessDeniedError("the broker refuses us."), 4),
    ],
)
def test_errors_become_log_messages_and_exit_codes(
    error: Exception, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert run_failing(error) == code
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert said == str(error).splitlines()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_traceback_of_unexpected_error_is_logged_at_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    assert run_failing(KeyError("x")) == 1
    error, debug = caplog.records
    assert "log.level=debug" in error.getMessage()
    assert error.exc_info is None
    assert debug.exc_info is not None


def test_mistake_with_a_hostile_name_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    mistakes = ("the name a\u2028b\x85c\nd is used twice", "another mistake")
    assert run_failing(ConfigError(*mistakes)) == 2
    assert tuple(each.getMessage() for each in caplog.records) == mistakes


def test_keyboard_interrupt_exits_with_0() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert exit_code(interrupted) == 0


def test_stop_deadline_counts_from_first_request() -> None:
    now_s = 10.0
    stop = Stop(2000, clock=lambda: now_s)
    try:
        assert (stop.requested, stop.remaining_s, stop.wait(0)) == (False, 2.0, False)
        stop.request()
        now_s = 11.5
        stop.request()
        assert (stop.requested, stop.remaining_s, stop.wait(60)) == (True, 0.5, True)
        now_s = 20.0
        assert stop.remaining_s == 0
    finally:
        stop.close()


def test_part_stop_ends_immediately_or_with_the_whole() -> None:
    whole = Stop(2000, clock=lambda: 10.0)
    alone, together = PartStop(whole), PartStop(whole)
    try:
        assert not alone.wait(0)
        assert alone.remaining_s == 2.0
        alone.request()
        assert (alone.requested, alone.remaining_s, alone.wait(60)) == (True, 0.0, True)
        assert (whole.requested, together.requested) == (False, False)
        whole.request()
        assert (together.requested, together.remaining_s) == (True, 2.0)
        assert select.select([alone, together], [], [], 60)[0] == [alone, together]
        assert alone.remaining_s == 0.0
    finally:
        for each in (alone, together, whole):
            each.close()


def test_stop_request_from_thread_wakes_the_waiter() -> None:
    stop = Stop(1000)
    thread = threading.Thread(target=stop.request)
    thread.start()
    try:
        wait_until(lambda: stop.wait(1), "the request")
        assert stop.requested
    finally:
        thread.join()
        stop.close()
