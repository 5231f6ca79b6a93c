"""Conditions that follow from the facts of every agent."""

import pytest

from sidecar.health.condition import State
from sidecar.sinks.base import DEAD_LETTERS_WAITING, SinkState
from sidecar.status.facts import TOPICS, ServiceFacts, undelivered


def test_waiting_dead_letters_cause_a_separate_condition() -> None:
    waits = SinkState(True, "rejected events wait", ("dlq",), DEAD_LETTERS_WAITING, "Start it.")
    for healthy, state, start in (
        (True, State.DEGRADED, "Events of some tables are not delivered: "),
        (False, State.FAILING, "Events are not delivered: "),
    ):
        sink = SinkState(healthy, waits.message, waits.topics, waits.code, waits.remedy)
        (found,) = undelivered(ServiceFacts(sink=sink), subject="tables", check="agent check")
        assert (found.code, found.state, found.component) == ("dead_letters_waiting", state, "sink")
        assert found.message == f"{start}rejected events wait"
        assert found.remedy == "Start it."


@pytest.mark.parametrize("code", sorted(TOPICS))
@pytest.mark.parametrize("healthy", [True, False])
def test_unavailable_topics_are_failing_when_no_event_is_delivered(
    code: str, healthy: bool
) -> None:
    facts = ServiceFacts(sink=SinkState(healthy, "the topic a is gone.", ("a",), code, "Create a."))
    (found,) = undelivered(facts, subject="tables", check="agent check")
    assert (found.code, found.remedy) == (code, "Create a.")
    assert found.state is (State.DEGRADED if healthy else State.FAILING)
    assert found.message.startswith(
        "Events of some tables are not" if healthy else "Events are not"
    )


def test_stopping_agent_without_events_reports_no_condition() -> None:
    facts = ServiceFacts(is_stopping=True, sink=SinkState(False, "closed"))
    assert not list(undelivered(facts, subject="tables", check="agent check"))
