"""Liveness of a broker, with an injected clock."""

import pytest

from sidecar.sinks.kafka.broker_liveness import BrokerLiveness
from tests.support.pipeline.fakes import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def liveness(clock: FakeClock) -> BrokerLiveness:
    liveness = BrokerLiveness("a:1", clock)
    liveness.probed(True)
    clock.now_s += 1
    return liveness


def test_first_probe_is_due_immediately(clock: FakeClock) -> None:
    assert BrokerLiveness("a:1", clock).is_probe_due()


def test_live_broker_is_not_probed_without_cause(
    liveness: BrokerLiveness, clock: FakeClock
) -> None:
    clock.now_s += 3600
    assert (liveness.is_probe_due(), liveness.error()) == (False, None)


def test_connection_error_only_triggers_a_probe(liveness: BrokerLiveness) -> None:
    liveness.connection_failed("a:1: connection refused")
    assert (liveness.is_probe_due(), liveness.error()) == (True, None)
    liveness.probed(True)
    assert (liveness.is_probe_due(), liveness.error()) == (False, None)


def test_unanswered_probe_marks_broker_unavailable_until_answer(
    liveness: BrokerLiveness, clock: FakeClock
) -> None:
    liveness.connection_failed("a:1: connection refused")
    liveness.probed(False)
    assert liveness.is_unavailable()
    assert not liveness.is_probe_due()
    for _ in range(9):
        clock.now_s += 1
        assert liveness.is_probe_due()
        liveness.probed(False)
    assert liveness.error() == "no Kafka broker of a:1 has answered for 9 s"
    assert liveness.reason == "a:1: connection refused"
    liveness.probed(True)
    assert (liveness.is_unavailable(), liveness.error()) == (False, None)


def test_acknowledgement_marks_broker_available(liveness: BrokerLiveness, clock: FakeClock) -> None:
    liveness.connection_failed("x")
    liveness.probed(False)
    liveness.acknowledged(waiting=0)
    clock.now_s += 60
    assert (liveness.is_unavailable(), liveness.is_probe_due(), liveness.error()) == (
        False,
        False,
        None,
    )


def test_silent_broker_is_probed_and_then_reported(
    liveness: BrokerLiveness, clock: FakeClock
) -> None:
    liveness.events_sent()
    clock.now_s += 2
    assert not liveness.is_probe_due()
    clock.now_s += 0.1
    assert liveness.is_probe_due()
    liveness.probed(True)
    liveness.events_sent()
    clock.now_s += 14
    trouble = liveness.error()
    assert trouble is not None
    assert "acknowledged nothing for 16 s; are enough replicas in sync?" in trouble


def test_broker_silence_counts_from_last_acknowledgement(
    liveness: BrokerLiveness, clock: FakeClock
) -> None:
    liveness.events_sent()
    clock.now_s += 14
    liveness.acknowledged(waiting=3)
    clock.now_s += 14
    assert liveness.error() is None
    clock.now_s += 2
    assert liveness.error() is not None
    liveness.acknowledged(waiting=0)
    clock.now_s += 60
    assert (liveness.error(), liveness.is_probe_due()) == (None, False)


def test_aborted_events_clear_broker_silence(liveness: BrokerLiveness, clock: FakeClock) -> None:
    liveness.events_sent()
    clock.now_s += 60
    assert (liveness.is_probe_due(), liveness.error() is None) == (True, False)
    liveness.events_aborted()
    assert (liveness.is_probe_due(), liveness.error()) == (False, None)


def test_answered_probe_discards_earlier_connection_error(
    liveness: BrokerLiveness, clock: FakeClock
) -> None:
    liveness.connection_failed("a:1: connection refused")
    liveness.probed(True)
    liveness.probed(False)
    assert liveness.error() == "no Kafka broker of a:1 answers"
    assert liveness.reason == "it does not answer"
