"""Conditions in the log and in the metrics."""

import logging
from collections.abc import Iterator

import pytest

from sidecar.health.condition import Condition, State, Status, status_of
from sidecar.metrics import DeliveryMetrics
from sidecar.status.log import ConditionLog, StatusWatch
from tests.support.pipeline.fakes import FakeClock
from tests.support.servers.processes import wait_until

FULL = Condition("disk_full", State.DEGRADED, "offsets", "1 of 2 bytes are free.", "Make room.")
AWAY = Condition("sink_away", State.FAILING, "sink", "No broker answers.", "Start it.")
STARTING = Condition("starting", State.FAILING, "schema", "It starts.", "Wait.")


class Log:
    """A log of conditions, with the lines written since the last call."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self._caplog = caplog
        self.clock = FakeClock()
        self.log = ConditionLog(clock=self.clock)

    def shows(self, *conditions: Condition) -> list[tuple[str, str]]:
        self._caplog.clear()
        self.log.show(status_of(conditions))
        return self.lines()

    def lines(self) -> list[tuple[str, str]]:
        return [(record.levelname, record.message) for record in self._caplog.records]

    def fields(self) -> dict[str, object]:
        return dict(self._caplog.records[-1].__dict__["sidecar_fields"])


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[Log]:
    yield Log(caplog)


def test_condition_is_logged_once_at_start_and_end(log: Log) -> None:
    assert log.shows(FULL) == []
    assert log.shows(FULL) == [("WARNING", FULL.message)]
    assert log.fields()["remedy"] == "Make room."
    assert log.fields()["code"] == "disk_full"
    log.clock.advance(3600)
    assert log.shows(FULL) == []
    assert log.shows() == [("INFO", "condition resolved: disk_full")]
    assert log.fields()["after_s"] == 3600
    assert log.shows() == []


def test_momentary_condition_is_not_logged(log: Log) -> None:
    assert log.shows(AWAY) == []
    assert log.shows() == []
    assert log.shows(AWAY) == []


def test_condition_is_logged_again_only_for_new_reason(log: Log) -> None:
    log.shows(FULL)
    log.shows(FULL)
    log.clock.advance(61)
    counted = Condition("disk_full", FULL.state, "offsets", "0 of 2 bytes are free.", "Make room.")
    assert log.shows(counted) == []
    changed = Condition("disk_full", FULL.state, "offsets", "It is read-only.", "Mount it anew.")
    assert log.shows(changed) == [("WARNING", "It is read-only.")]
    # A change is logged at most once a minute, and not forgotten.
    assert log.shows(FULL) == []
    log.clock.advance(61)
    assert log.shows(FULL) == [("WARNING", FULL.message)]


def test_changed_segment_name_is_logged_again(log: Log) -> None:
    def kept(name: str) -> Condition:
        return Condition("kept", State.DEGRADED, "quarantine", f"1 segment: {name}.", "x")

    log.shows(kept("CommitLog-7-1.log"))
    log.shows(kept("CommitLog-7-1.log"))
    log.clock.advance(61)
    assert log.shows(kept("CommitLog-7-2.log")) == [("WARNING", "1 segment: CommitLog-7-2.log.")]


def test_starting_condition_is_not_logged(log: Log) -> None:
    assert log.shows(STARTING) + log.shows(STARTING) == []


def test_summary_lists_remaining_conditions_worst_last(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    log.log.close(status_of((AWAY, FULL, STARTING)))
    assert log.lines() == [("WARNING", FULL.message), ("WARNING", AWAY.message)]
    assert log.fields()["event"] == "the agent stops and a condition still exists"


def test_status_watch_continues_after_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Status | Exception] = [RuntimeError("once"), status_of((AWAY,))]

    def ask() -> Status:
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with StatusWatch(ask, interval_s=0.01):
        wait_until(lambda: AWAY.message in caplog.messages, "the warning")
    assert caplog.messages[-1] == AWAY.message
    assert caplog.messages.count(AWAY.message) == 2


def test_status_metrics_contain_status_and_current_conditions() -> None:
    metrics = DeliveryMetrics("agent", "1.2.3")
    metrics.set_status(status_of((AWAY, FULL)))
    text = metrics.render().decode()
    assert 'cdc_status{status="failing"} 1.0' in text
    assert 'cdc_status{status="degraded"} 0.0' in text
    assert 'cdc_condition{code="sink_away",status="failing"} 1.0' in text
    assert 'cdc_condition{code="disk_full",status="degraded"} 1.0' in text
    metrics.set_status(status_of(()))
    text = metrics.render().decode()
    assert 'cdc_status{status="ok"} 1.0' in text
    assert "cdc_condition{" not in text
