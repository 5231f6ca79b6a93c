"""Conditions that follow from the facts of every agent."""

from sidecar.health.condition import State
from sidecar.sinks.base import DEAD_LETTERS_WAITING, SinkState
from sidecar.status.facts import ServiceFacts, undelivered


def test_waiting_dead_letters_have_a_condition_of_their_own() -> None:
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


def test_agent_that_stops_without_events_has_no_condition() -> None:
    facts = ServiceFacts(is_stopping=True, sink=SinkState(False, "closed"))
    assert not list(undelivered(facts, subject="tables", check="agent check"))
