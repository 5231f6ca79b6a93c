"""The Kafka broker: whether it answers, and whether the topics are there."""

from collections.abc import Iterator, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from agent.check.finding import Finding, fault, ok, warning
from sidecar.settings import SidecarProperties
from sidecar.sinks.kafka.client_properties import client_properties

_ANSWER_S = 10.0


def check_broker(properties: SidecarProperties, topics: Sequence[str]) -> Iterator[Finding]:
    """`topics` are those that events will go to."""
    servers = properties.kafka_producer.get("bootstrap.servers", "")
    try:
        found = _topics_of_broker(properties)
    except KafkaException as error:
        yield fault(
            "broker",
            f"Kafka at {servers} does not answer: {error.args[0].str()}.",
            "Start it, or correct kafka.producer.*; the agent waits for a broker that is away.",
        )
        return
    yield ok("broker", f"Kafka at {servers} answers.")
    missing = [topic for topic in topics if topic not in found]
    if not missing:
        if topics:
            yield ok("topics", f"All {len(topics)} topics are there.")
        return
    shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
    if properties.topic_creation_enable:
        yield ok("topics", f"{len(missing)} topics will be made: {shown}.")
    else:
        yield warning(
            "topics",
            f"{len(missing)} topics are missing, and delivery waits for them: {shown}.",
            "Create them, or set topic.creation.enable=true.",
        )


def _topics_of_broker(properties: SidecarProperties) -> frozenset[str]:
    settings = dict(client_properties(properties.kafka_producer).config)
    # One sentence says it; the client's own lines would come on top.
    client = AdminClient({**settings, "log_level": 0})
    return frozenset(client.list_topics(timeout=_ANSWER_S).topics)
