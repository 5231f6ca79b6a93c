"""How many partitions a topic has; and what is done about a topic that does not exist."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from sidecar.errors import ConfigError
from sidecar.sinks.kafka.refusals import reason, refusal
from sidecar.sinks.kafka.topic_settings import PREFIX, topic_setting_problems

_REFRESH_S = 300.0
_PAUSE_S = 1.0
_CREATED_PAUSE_S = 0.05
_LOOKUP_S = 2.0
_REFRESH_LOOKUP_S = 0.2
_CREATION_S = 10.0


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """How a missing topic is made; -1 leaves a number to the broker."""

    partitions: int = -1
    replication_factor: int = -1
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def topic_creation(enabled: bool, defaults: Mapping[str, str]) -> TopicCreation | None:
    """From `topic.creation.enable` and `topic.creation.default.*`. Raises ConfigError."""
    problems = list(topic_setting_problems(defaults))
    if problems:
        raise ConfigError(*problems)
    if not enabled:
        return None
    settings = dict(defaults)
    return TopicCreation(
        int(settings.pop("partitions", "-1")),
        int(settings.pop("replication.factor", "-1")),
        MappingProxyType(settings),
    )


class Topics:
    """Partition counts as the broker tells them, asked again every five minutes.

    A topic that is not there is asked for at most once a second; `missing` says why it is not, a
    sentence for each. A broker with `auto.create.topics.enable` makes it by being asked.
    """

    def __init__(
        self,
        lookup: Callable[..., Any],
        admin: Callable[[], AdminClient],
        creation: TopicCreation | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lookup` is `Producer.list_topics`; `admin` makes a client when a topic is to be made."""
        self._lookup = lookup
        self._admin = admin
        self._creation = creation
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._ask_at_s: dict[str, float] = {}
        self._pause_s = _PAUSE_S
        self.missing: dict[str, str] = {}

    def partition_count(self, topic: str, timeout_s: float) -> int | None:
        """None when it is not known now. Raises RefusedError, or ConfigError for a bad name."""
        if self._clock() >= self._ask_at_s.get(topic, 0.0):
            self._pause_s = _PAUSE_S
            longest_s = _REFRESH_LOOKUP_S if topic in self._counts else _LOOKUP_S
            count = self._ask(topic, min(timeout_s, longest_s))
            if count is not None:
                self._counts[topic] = count
                self.missing.pop(topic, None)
            pause_s = _REFRESH_S if topic in self._counts else self._pause_s
            self._ask_at_s[topic] = self._clock() + pause_s
        return self._counts.get(topic)

    def _ask(self, topic: str, timeout_s: float) -> int | None:
        try:
            metadata = self._lookup(topic, timeout=timeout_s).topics[topic]
        except KafkaException as error:
            raise_refusal(error.args[0], "The Kafka broker")
            return None
        if metadata.error is None:
            return len(metadata.partitions) or None
        self._without_metadata(topic, metadata.error)
        return None

    def _without_metadata(self, topic: str, error: KafkaError) -> None:
        raise_refusal(error, f"The topic {topic}")
        match error.code():
            case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_TOPIC:
                self._counts.pop(topic, None)
                if self._creation is not None:
                    self._create(topic, self._creation)
                else:
                    self.missing[topic] = (
                        f"the topic {topic} does not exist; create it, or set "
                        "topic.creation.enable=true"
                    )
            case KafkaError.TOPIC_EXCEPTION:
                raise ConfigError(
                    f"`{topic}` cannot be the name of a Kafka topic: {reason(error)}. "
                    "Change topic.prefix."
                )
            case _:
                self.missing[topic] = f"the topic {topic} is not ready: {reason(error)}"

    def _create(self, topic: str, creation: TopicCreation) -> None:
        new_topic = NewTopic(
            topic,
            num_partitions=creation.partitions,
            replication_factor=creation.replication_factor,
            config=dict(creation.settings),
        )
        self.missing[topic] = f"the topic {topic} has just been created"
        # The client answers only as long as somebody holds it.
        admin = self._admin()
        try:
            futures = admin.create_topics([new_topic], request_timeout=_CREATION_S)
            futures[topic].result(_CREATION_S)
            self._pause_s = _CREATED_PAUSE_S
        except TimeoutError:
            self.missing[topic] = f"the topic {topic} cannot be created: the broker does not answer"
        except KafkaException as exception:
            error = exception.args[0]
            raise_refusal(error, f"The creation of the topic {topic}")
            if error.code() == KafkaError.INVALID_CONFIG:
                raise ConfigError(
                    f"The topic {topic} cannot be created with `{PREFIX}*`: {reason(error)}."
                ) from exception
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                self.missing[topic] = f"the topic {topic} cannot be created: {reason(error)}"


def raise_refusal(error: KafkaError, subject: str) -> None:
    """Raises RefusedError when that is what the error means."""
    refused = refusal(error, subject)
    if refused is not None:
        raise refused
