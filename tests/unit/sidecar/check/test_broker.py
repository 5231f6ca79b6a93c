"""The broker's answer in a running agent."""

from types import SimpleNamespace
from typing import cast

import pytest

from sidecar.check.broker import broker_of_run
from sidecar.config.settings import SidecarProperties
from sidecar.errors import UnavailableError
from sidecar.sinks.base import CLOSED, NOT_OPEN, SinkState

PROPERTIES = cast(SidecarProperties, SimpleNamespace(kafka_producer={}))


@pytest.mark.parametrize("state", [NOT_OPEN, CLOSED, SinkState(True, "")], ids=str)
def test_the_broker_answers(monkeypatch: pytest.MonkeyPatch, state: SinkState) -> None:
    """A sink that is not open yet does not mean that the broker is unavailable."""
    monkeypatch.setattr("sidecar.check.broker.existing_topics", lambda *_: {"shop": 1})
    answer = broker_of_run(state, PROPERTIES)
    assert (answer.topics, answer.error) == ({"shop": 1}, None)


def test_no_request_while_the_sink_does_not_reach_the_broker() -> None:
    answer = broker_of_run(SinkState(False, "No broker answers."), PROPERTIES)
    assert isinstance(answer.error, UnavailableError)
    assert str(answer.error) == "No broker answers."
