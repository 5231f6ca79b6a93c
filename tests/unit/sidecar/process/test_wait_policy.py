"""Pauses after failures, and waiting for an answer."""

from collections.abc import Iterator

import pytest

from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.process.lifecycle import Stop
from sidecar.process.wait_policy import RetryPause, wait_for


@pytest.fixture
def stop() -> Iterator[Stop]:
    made = Stop(1000)
    yield made
    made.close()


def test_retry_pauses_double_up_to_limit_and_reset_after_success() -> None:
    pause = RetryPause(1.0, 5.0)
    assert [pause.failed() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    pause.succeeded()
    assert pause.present_s == pause.failed() == 1.0
    assert not pause.is_spent


def test_retry_attempts_are_exhausted_after_one_more_failure() -> None:
    pause = RetryPause(1.0, 5.0, attempts=2)
    spent = [pause.is_spent for _ in range(3) if pause.failed()]
    assert spent == [False, False, True]
    pause.succeeded()
    assert not pause.is_spent


def test_jitter_shortens_pause_by_at_most_a_quarter() -> None:
    pause = RetryPause(8.0, 8.0)
    assert all(6.0 <= pause.failed(is_jittered=True) <= 8.0 for _ in range(100))


def test_wait_retries_until_an_answer_arrives(stop: Stop) -> None:
    failures = [UnavailableError("no broker answers"), AccessDeniedError("wrong password")]
    errors: list[str] = []

    def ask() -> int:
        if failures:
            raise failures.pop(0)
        return 7

    pause = RetryPause(0.001, 0.001)
    found = wait_for(ask, stop, pause, on_error=errors.append, waits_when_denied=True)
    assert (found, errors) == (7, ["no broker answers", "wrong password"])


def test_access_denied_is_raised_unless_waiting_is_configured(stop: Stop) -> None:
    def ask() -> int:
        raise AccessDeniedError("wrong password")

    pause = RetryPause(0.001, 0.001)
    with pytest.raises(AccessDeniedError, match="wrong password"):
        wait_for(ask, stop, pause, on_error=lambda _: None, waits_when_denied=False)


def test_a_stop_ends_the_wait(stop: Stop) -> None:
    def ask() -> int:
        raise UnavailableError("no broker answers")

    pause = RetryPause(60.0, 60.0)

    def request(_: str) -> None:
        stop.request()

    assert wait_for(ask, stop, pause, on_error=request, waits_when_denied=True) is None
