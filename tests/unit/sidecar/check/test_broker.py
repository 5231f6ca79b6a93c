"""The broker's answer in a running agent."""

from types import SimpleNamespace
from typing import cast

import pytest

from sidecar.check.broker import BrokerAnswer, BrokerProbe, broker_of_run, check_compaction
from sidecar.config.settings import SidecarProperties
from sidecar.errors import UnavailableError
from sidecar.sinks.base import CLOSED, NOT_OPEN, SinkState

PROPERTIES = cast(SidecarProperties, SimpleNamespace(kafka_producer={}))


@pytest.mark.parametrize(
    "state",
    [NOT_OPEN, CLOSED, SinkState(True, ""), SinkState(False, "no topic", ("t",), "topic_missing")],
    ids=str,
)
def test_broker_is_queried_unless_sink_reports_outage(
    monkeypatch: pytest.MonkeyPatch, state: SinkState
) -> None:
    """A sink that is not open yet, or waits for topics, does not mean that the broker is
    unavailable."""
    monkeypatch.setattr("sidecar.check.broker.existing_topics", lambda *_: {"shop": 1})
    answer = broker_of_run(state, PROPERTIES)
    assert (answer.topics, answer.error) == ({"shop": 1}, None)


def test_broker_is_not_queried_during_sink_outage() -> None:
    answer = broker_of_run(SinkState(False, "No broker answers."), PROPERTIES)
    assert isinstance(answer.error, UnavailableError)
    assert str(answer.error) == "No broker answers."


@pytest.mark.parametrize("asked", [["a"], ["a", "b"], ["none"], []])
def test_compacted_topics_of_row_changes_are_a_fault(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """Only existing topics count, and other topics of the agent may be compacted."""
    monkeypatch.setattr(
        "sidecar.check.broker.compacted_topics", lambda _, topics, *__: [*{"b", "c"} & set(topics)]
    )
    properties = SimpleNamespace(sink="kafka", kafka_producer={"bootstrap.servers": "k:1"})
    probe = SimpleNamespace(
        config=SimpleNamespace(properties=properties),
        broker=lambda: BrokerAnswer(dict.fromkeys("abc", 1)),
    )
    found = list(check_compaction(cast(BrokerProbe, probe), asked))
    assert [each.code for each in found] == ["topics_compacted"] * ("b" in asked)
    assert all("--topic b --add-config cleanup.policy=delete" in each.remedy for each in found)
