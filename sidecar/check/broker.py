"""Checks of the Kafka broker: whether it answers, and whether the topics exist."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sidecar.check.check import Finding, fault, first_names, ok, warning
from sidecar.config.settings import SidecarProperties
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from sidecar.sinks.base import CLOSED, NOT_OPEN, SinkState
from sidecar.sinks.kafka.topics.access import (
    compacted_topics,
    existing_topics,
    unwritable_topics,
)

ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """A broker's answer to a metadata request, or the error."""

    topics: Mapping[str, int] = field(default_factory=dict)
    """Partition counts by name."""
    error: SidecarError | None = None
    """`UnavailableError`, `AccessDeniedError` or `ConfigError`."""


class _Config(Protocol):
    @property
    def properties(self) -> SidecarProperties: ...


class BrokerProbe(Protocol):
    """The part of a probe that concerns the broker."""

    @property
    def config(self) -> _Config: ...
    @property
    def broker(self) -> Callable[[], BrokerAnswer]: ...
    @property
    def topics(self) -> Sequence[str]:
        """The topics that the agent is known to write to."""


def ask_broker(properties: SidecarProperties, timeout_s: float = ANSWER_S) -> BrokerAnswer:
    """Request metadata over a separate connection."""
    try:
        return BrokerAnswer(existing_topics(properties.kafka_producer, timeout_s))
    except SidecarError as error:
        return BrokerAnswer(error=error)


def broker_of_run(state: SinkState, properties: SidecarProperties) -> BrokerAnswer:
    """Query the broker from a running agent, unless its sink reports a failure. A sink that only
    waits for topics does reach the broker."""
    if state.healthy or state.topics or state in (NOT_OPEN, CLOSED):
        return ask_broker(properties)
    return BrokerAnswer(error=UnavailableError(state.message))


def broker_text(properties: SidecarProperties) -> str:
    """Return the broker's address and the timeout as text, or an empty text for other sinks."""
    if properties.sink != "kafka":
        return ""
    return f"the broker {_servers(properties)} (at most {ANSWER_S:.0f} s)"


def check_broker(probe: BrokerProbe) -> Iterator[Finding]:
    """Check whether the broker answers and accepts the agent."""
    properties = probe.config.properties
    if properties.sink != "kafka":
        return
    error = probe.broker().error
    match error:
        case None:
            message = f"Kafka at {_servers(properties)} answers."
            yield ok("broker", message, code="broker_answers")
        case AccessDeniedError():
            yield fault(
                "broker",
                str(error),
                "Correct kafka.producer.sasl.*, or the user and its rights at the broker: "
                "kafka-configs.sh and kafka-acls.sh list them.",
                code="broker_access_denied",
            )
        case ConfigError():
            yield fault(
                "broker",
                str(error),
                "Correct kafka.producer.*. Until then the agent exits with code 2.",
                code="broker_settings_invalid",
            )
        case _:
            yield fault(
                "broker",
                str(error),
                "Start the broker, or correct kafka.producer.bootstrap.servers; the agent retries.",
                code="broker_unavailable",
            )


def check_topics(probe: BrokerProbe) -> Iterator[Finding]:
    """Check whether the agent can write to its topics. No finding if the broker is unavailable."""
    properties = probe.config.properties
    if properties.sink != "kafka":
        return
    answer, topics = probe.broker(), probe.topics
    if answer.error is not None or not topics:
        return
    quoted = shlex.quote(_servers(properties))
    missing = [topic for topic in topics if topic not in answer.topics]
    there = [topic for topic in topics if topic in answer.topics]
    denied = unwritable_topics(properties.kafka_producer, there, ANSWER_S) if there else []
    if denied:
        user = properties.kafka_producer.get("sasl.username", "NAME")
        principal = shlex.quote(f"User:{user}")
        yield fault(
            "topics",
            f"The agent is not allowed to write to {len(denied)} topics: {first_names(denied)}.",
            f"Run for each: `kafka-acls.sh --bootstrap-server {quoted} --add "
            f"--allow-principal {principal} --operation Write --operation Describe --topic "
            f"{denied[0]}`.",
            code="topics_not_writable",
        )
    if not missing and denied:
        return
    if not missing:
        yield ok("topics", f"All {len(topics)} topics exist.")
        return
    shown = first_names(missing)
    if properties.topic_creation_enable:
        message = f"The agent will create {len(missing)} topics: {shown}."
        yield ok("topics", message, code="topics_created_later")
        return
    yield warning(
        "topics",
        f"{len(missing)} topics do not exist or are hidden from this user. Delivery waits for "
        f"them: {shown}.",
        f"Create them (`kafka-topics.sh --bootstrap-server {quoted} --create "
        f"--topic {missing[0]}`), or set topic.creation.enable=true.",
        code="topics_missing",
    )


def check_compaction(probe: BrokerProbe, topics: Sequence[str]) -> Iterator[Finding]:
    """Check whether a topic with row changes is compacted. No finding if the broker is unavailable.

    An event contains only the columns that its statement wrote, so the latest event of a key is
    not the whole row. Compaction deletes the earlier events.
    """
    properties = probe.config.properties
    if properties.sink != "kafka":
        return
    answer = probe.broker()
    there = [topic for topic in topics if topic in answer.topics]
    if answer.error is not None or not there:
        return
    quoted = shlex.quote(_servers(properties))
    compacted = compacted_topics(properties.kafka_producer, there, ANSWER_S)
    if compacted:
        yield fault(
            "topics",
            f"{len(compacted)} topics of row changes have `compact` in `cleanup.policy`: "
            f"{first_names(compacted)}. Kafka deletes all but the latest event of a key, but an "
            "event contains only the columns that its statement wrote.",
            f"Run for each: `kafka-configs.sh --bootstrap-server {quoted} --alter "
            f"--topic {compacted[0]} --add-config cleanup.policy=delete`.",
            code="topics_compacted",
        )


def _servers(properties: SidecarProperties) -> str:
    return properties.kafka_producer.get("bootstrap.servers", "")
