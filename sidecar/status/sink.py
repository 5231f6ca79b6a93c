"""Conditions of a sink. Pure."""

from collections.abc import Iterator

from sidecar.health.condition import Condition, State
from sidecar.sinks.base import SinkState

UNAVAILABLE = frozenset(("sink_unavailable", "sink_access_denied"))
TOPICS = frozenset(("topic_missing", "topic_access_denied", "topic_unavailable"))


def sink_conditions(sink: SinkState, *, subject: str, check: str) -> Iterator[Condition]:
    """Failing while nothing is delivered, degraded while only some topics wait. `subject` names
    the owners of events, such as tables; `check` is the command that asks the broker."""
    if not sink.healthy:
        yield Condition(
            sink.code or "sink_unavailable",
            State.FAILING,
            "sink",
            f"Events are not delivered: {sink.message}",
            sink.remedy or f"Start the broker or correct what it rejects; `{check}` verifies both.",
        )
    elif sink.topics:
        yield Condition(
            sink.code or "topic_unavailable",
            State.DEGRADED,
            "sink",
            f"Events of some {subject} are not delivered: {sink.message}",
            sink.remedy
            or f"Create the topics or let the agent write to them: {', '.join(sink.topics[:5])}.",
        )
