"""What is known about a broker, by an injected clock."""

from dataclasses import dataclass

import pytest

from sidecar.sinks.kafka.contact import Contact


@dataclass
class Clock:
    now_s: float = 50.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def contact(clock: Clock) -> Contact:
    contact = Contact("a:1", clock)
    contact.probed(True)
    clock.now_s += 1
    return contact


def test_the_first_question_is_due_at_once(clock: Clock) -> None:
    assert Contact("a:1", clock).is_probe_due()


def test_without_a_doubt_nothing_is_asked(contact: Contact, clock: Clock) -> None:
    clock.now_s += 3600
    assert (contact.is_probe_due(), contact.trouble()) == (False, None)


def test_an_error_of_a_connection_is_a_doubt_and_no_verdict(contact: Contact) -> None:
    contact.failed("a:1: connection refused")
    assert (contact.is_probe_due(), contact.trouble()) == (True, None)
    contact.probed(True)
    assert (contact.is_probe_due(), contact.trouble()) == (False, None)


def test_a_broker_that_does_not_answer_is_away_until_it_does(
    contact: Contact, clock: Clock
) -> None:
    contact.failed("a:1: connection refused")
    contact.probed(False)
    assert contact.is_away()
    assert not contact.is_probe_due()
    for _ in range(9):
        clock.now_s += 1
        assert contact.is_probe_due()
        contact.probed(False)
    assert contact.trouble() == "no Kafka broker of a:1 answers for 9 s: a:1: connection refused"
    contact.probed(True)
    assert (contact.is_away(), contact.trouble()) == (False, None)


def test_an_acknowledgement_settles_every_doubt(contact: Contact, clock: Clock) -> None:
    contact.failed("x")
    contact.probed(False)
    contact.acknowledged(waiting=0)
    clock.now_s += 60
    assert (contact.is_away(), contact.is_probe_due(), contact.trouble()) == (False, False, None)


def test_silence_while_events_wait_is_asked_about_and_then_said(
    contact: Contact, clock: Clock
) -> None:
    contact.sent()
    clock.now_s += 2
    assert not contact.is_probe_due()
    clock.now_s += 0.1
    assert contact.is_probe_due()
    contact.probed(True)
    contact.sent()
    clock.now_s += 14
    trouble = contact.trouble()
    assert trouble is not None
    assert "acknowledged nothing for 16 s; are enough replicas in sync?" in trouble


def test_silence_counts_from_the_last_acknowledgement(contact: Contact, clock: Clock) -> None:
    contact.sent()
    clock.now_s += 14
    contact.acknowledged(waiting=3)
    clock.now_s += 14
    assert contact.trouble() is None
    clock.now_s += 2
    assert contact.trouble() is not None
    contact.acknowledged(waiting=0)
    clock.now_s += 60
    assert (contact.trouble(), contact.is_probe_due()) == (None, False)


def test_events_that_were_taken_back_leave_no_silence(contact: Contact, clock: Clock) -> None:
    contact.sent()
    clock.now_s += 60
    assert (contact.is_probe_due(), contact.trouble() is None) == (True, False)
    contact.taken_back()
    assert (contact.is_probe_due(), contact.trouble()) == (False, None)


def test_a_broker_that_answered_once_is_not_said_to_have_no_connection(
    contact: Contact, clock: Clock
) -> None:
    contact.failed("a:1: connection refused")
    contact.probed(True)
    contact.probed(False)
    assert contact.trouble() == "no Kafka broker of a:1 answers for 0 s: it does not answer"
