"""Looks up partition counts of topics, and creates missing topics."""

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from sidecar.errors import ConfigError
from sidecar.sinks.kafka.delivery_errors import AUTHORISATION, denied_access, reason
from sidecar.sinks.kafka.topics.settings import PREFIX, topic_setting_problems
from sidecar.sinks.kafka.unavailable_topics import TopicProblem

DEFAULT_REFRESH_S = 30.0
_PAUSE_S = 1.0
_CREATED_PAUSE_S = 0.05
_LOOKUP_S = 2.0
_REFRESH_LOOKUP_S = 0.2
_CREATION_S = 10.0


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """How to create missing topics; -1 means the broker's default."""

    partitions: int = -1
    replication_factor: int = -1
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def topic_creation(enabled: bool, defaults: Mapping[str, str]) -> TopicCreation | None:
    """Parse the settings `topic.creation.*`; None if disabled. Raises ConfigError."""
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


class TopicMetadata:
    """Partition counts from the broker, refreshed after `refresh_s` seconds.

    A missing topic is looked up at most once a second; `missing` contains the reason. A broker with
    `auto.create.topics.enable` creates a topic when it is looked up.
    """

    def __init__(
        self,
        lookup: Callable[..., Any],
        admin: Callable[[], AdminClient],
        creation: TopicCreation | None,
        *,
        refresh_s: float = DEFAULT_REFRESH_S,
        waits_when_denied: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lookup` is `Producer.list_topics`; `admin` creates a client that can create topics.
        With `waits_when_denied`, a topic that denies access is `missing` and raises no error."""
        self._lookup = lookup
        self._admin = admin
        self._creation = creation
        self._refresh_s = refresh_s
        self._waits_when_denied = waits_when_denied
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._ask_at_s: dict[str, float] = {}
        self._pause_s = _PAUSE_S
        self.missing: dict[str, TopicProblem] = {}

    @property
    def known(self) -> Set[str]:
        """Topics with a partition count."""
        return self._counts.keys()

    def partition_count(self, topic: str, timeout_s: float) -> int | None:
        """Return the count, if known. Raises AccessDeniedError, or ConfigError for a bad name."""
        if self._clock() >= self._ask_at_s.get(topic, 0.0):
            self._pause_s = _PAUSE_S
            longest_s = _REFRESH_LOOKUP_S if topic in self._counts else _LOOKUP_S
            count = self._ask(topic, min(timeout_s, longest_s))
            if count is not None:
                self._counts[topic] = count
                self.missing.pop(topic, None)
            pause_s = self._refresh_s if topic in self._counts else self._pause_s
            self._ask_at_s[topic] = self._clock() + pause_s
        return self._counts.get(topic)

    def forget(self, topic: str) -> None:
        """Forget the count, because a broker has reported the topic missing."""
        self._counts.pop(topic, None)
        self._ask_at_s.pop(topic, None)

    def _ask(self, topic: str, timeout_s: float) -> int | None:
        try:
            metadata = self._lookup(topic, timeout=timeout_s).topics[topic]
        except KafkaException as error:
            raise_denied_access(error.args[0], "The Kafka broker")
            return None
        if metadata.error is None:
            return len(metadata.partitions) or None
        self._without_metadata(topic, metadata.error)
        return None

    def _without_metadata(self, topic: str, error: KafkaError) -> None:
        if self._is_access_denied(topic, error, f"The topic {topic}"):
            return
        match error.code():
            case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_TOPIC:
                self._counts.pop(topic, None)
                if self._creation is not None:
                    self._create(topic, self._creation)
                else:
                    self.missing[topic] = TopicProblem(
                        "topic_missing",
                        f"the topic {topic} does not exist",
                        "Create it (`kafka-topics.sh --bootstrap-server BROKER --create --topic "
                        f"{topic}`), or set topic.creation.enable=true.",
                    )
            case KafkaError.TOPIC_EXCEPTION:
                raise ConfigError(
                    f"`{topic}` cannot be the name of a Kafka topic: {reason(error)}. "
                    "Change topic.prefix."
                )
            case _:
                self._is_not_ready(topic, f"is not ready: {reason(error)}")

    def _create(self, topic: str, creation: TopicCreation) -> None:
        new_topic = NewTopic(
            topic,
            num_partitions=creation.partitions,
            replication_factor=creation.replication_factor,
            config=dict(creation.settings),
        )
        self._is_not_ready(topic, "has just been created")
        # The client must stay referenced until it answers.
        admin = self._admin()
        try:
            futures = admin.create_topics([new_topic], request_timeout=_CREATION_S)
            futures[topic].result(_CREATION_S)
            self._pause_s = _CREATED_PAUSE_S
        except TimeoutError:
            self._is_not_ready(topic, "cannot be created: the broker does not answer")
        except KafkaException as exception:
            error = exception.args[0]
            if self._is_access_denied(topic, error, f"The creation of the topic {topic}"):
                return
            if error.code() == KafkaError.INVALID_CONFIG:
                raise ConfigError(
                    f"The topic {topic} cannot be created with `{PREFIX}*`: {reason(error)}."
                ) from exception
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                self._is_not_ready(topic, f"cannot be created: {reason(error)}")

    def _is_not_ready(self, topic: str, why: str) -> None:
        remedy = f"Search the broker's log for {topic}."
        self.missing[topic] = TopicProblem("topic_unavailable", f"the topic {topic} {why}", remedy)

    def _is_access_denied(self, topic: str, error: KafkaError, subject: str) -> bool:
        """Return whether access was denied; raise the error unless the sink waits."""
        if not self._waits_when_denied or error.code() not in AUTHORISATION:
            raise_denied_access(error, subject)
            return False
        self._counts.pop(topic, None)
        self.missing[topic] = topic_access_denied(topic, error, subject)
        return True


def topic_access_denied(topic: str, error: KafkaError, subject: str) -> TopicProblem:
    """Build the problem of a topic that this user cannot describe, create or write."""
    return TopicProblem(
        "topic_access_denied",
        f"{subject[:1].lower()}{subject[1:]} is denied to this user: {reason(error)}",
        "Allow the user to write and describe it, and to create it if "
        "topic.creation.enable=true: `kafka-acls.sh --bootstrap-server BROKER --add "
        f"--allow-principal User:NAME --topic {topic} --operation Write --operation Describe`",
    )


def raise_denied_access(error: KafkaError, subject: str) -> None:
    """Raise AccessDeniedError if the error concerns authentication or authorization."""
    denied = denied_access(error, subject)
    if denied is not None:
        raise denied
