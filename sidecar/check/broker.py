"""The Kafka broker: whether it answers, and whether the topics are there."""

import re
from collections.abc import Iterator, Sequence

from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import ConfigError, RefusedError, UnavailableError
from sidecar.settings import SidecarProperties
from sidecar.sinks.kafka.survey import existing_topics

_ANSWER_S = 10.0


def topic_name(text: str) -> str:
    """As events name a topic: with `_` for what Kafka does not take."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


def check_broker(properties: SidecarProperties, topics: Sequence[str]) -> Iterator[Finding]:
    """`topics` are those that events will go to."""
    servers = properties.kafka_producer.get("bootstrap.servers", "")
    try:
        found = existing_topics(properties.kafka_producer, _ANSWER_S)
    except UnavailableError as error:
        remedy = "Start it, or correct kafka.producer.*; the agent waits for a broker that is away."
        yield fault("broker", str(error), remedy)
        return
    except RefusedError as error:
        yield fault("broker", str(error), "The agent ends with exit code 4.")
        return
    except ConfigError as error:
        yield fault("broker", str(error), "The agent ends with exit code 2.")
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
