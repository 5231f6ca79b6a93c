"""The Kafka client of a sink: the producer with the state of its brokers and topics.

The plain and the transactional sink share it: settings, client errors, liveness of the brokers.
"""

import logging
import re
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from sidecar.errors import ConfigError, SidecarError
from sidecar.logs import RateLimitedLog, fields
from sidecar.properties.secrets import shown_value
from sidecar.sinks.base import SinkState
from sidecar.sinks.kafka.broker_liveness import BrokerLiveness
from sidecar.sinks.kafka.config.client_config import client_config, connection
from sidecar.sinks.kafka.config.java_names import ALIASES, PREFIX
from sidecar.sinks.kafka.delivery_errors import denied_access, reason
from sidecar.sinks.kafka.topics.metadata import TopicCreation, TopicMetadata
from sidecar.sinks.kafka.unavailable_topics import TopicProblem

logger = logging.getLogger(__name__)

_FIRST_ANSWER_S = 5.0
_PROBE_S = 0.2
_SHOWN_TOPICS = 5
_PROPERTY = re.compile(r'(?:property|value for) "([^"]+)"|producer: ([a-z]+\.[a-z.]+) failed')
_MECHANISM = re.compile(r"SASL mechanism", re.IGNORECASE)
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)
"""For a client that only validates settings."""
_CODES = ("topic_access_denied", "topic_missing", "topic_unavailable")


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What a sink is configured with."""

    settings: Mapping[str, str] = field(repr=False)
    """`kafka.producer.*` without the prefix."""
    creation: TopicCreation | None = None
    waits_when_denied: bool = True
    """Whether a topic that denies access is retried; otherwise it raises."""
    reread: Callable[[], Mapping[str, str]] | None = None
    """Returns the settings before each connection."""


class KafkaClient:
    """One producer at a time, from `open` to `release`."""

    def __init__(
        self,
        options: ClientOptions,
        fatal: Callable[[KafkaError], SidecarError],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fatal` maps a fatal client error to the exception to raise. `clock` returns seconds."""
        self.options = options
        self._settings = options.settings
        self.config: Mapping[str, str] = client_config(options.settings)
        self.servers = self.config.get("bootstrap.servers", "")
        self._fatal = fatal
        self._clock = clock
        self._log = _ClientLog(clock)
        self._producer: Producer | None = None
        self._topics: TopicMetadata | None = None
        self._error: SidecarError | None = None
        self.liveness = BrokerLiveness(self.servers, clock)

    def open(self, settings: Mapping[str, Any]) -> Producer:
        """Create a producer. `settings` override the configuration. Raises ConfigError for settings
        that the client rejects."""
        self._error = None
        self.liveness = BrokerLiveness(self.servers, self._clock)
        if self.options.reread is not None:
            # An unusable store may be half written.
            with suppress(ConfigError):
                again = self.options.reread()
                self.config, self._settings = client_config(again), again
        return self.replace_producer(settings)

    def replace_producer(self, settings: Mapping[str, Any]) -> Producer:
        """Replace an idle producer. Raises ConfigError if the client rejects the settings; the
        current producer then stays."""
        config = {**self.config, **settings, "error_cb": self.on_error}
        try:
            producer = Producer(config, logger=self._log)
        except KafkaException as error:
            raise rejected_setting(error, self._settings) from error
        self._producer = producer
        self._topics = self.topics(self.options.creation)
        return producer

    def wait_for_broker(self) -> None:
        """Wait up to five seconds for a broker. Raises AccessDeniedError for a rejected login."""
        until_s = self._clock() + _FIRST_ANSWER_S
        self._probe()
        while self.liveness.is_unavailable() and self._clock() < until_s:
            self._probe()
            self.poll(0)

    def release(self) -> Producer | None:
        producer, self._producer = self._producer, None
        return producer

    def producer(self) -> Producer:
        """Return the open producer. Raises a fatal error of the client or of a callback."""
        if self._producer is None:
            raise RuntimeError("the sink is not open")
        self.raise_error()
        return self._producer

    def topics(self, creation: TopicCreation | None) -> TopicMetadata:
        """Create a metadata lookup through this producer; `creation` creates missing topics."""
        assert self._producer is not None
        return TopicMetadata(
            self._producer.list_topics,
            self.admin,
            creation,
            refresh_s=int(self.config["topic.metadata.refresh.interval.ms"]) / 1000,
            waits_when_denied=self.options.waits_when_denied,
            clock=self._clock,
        )

    def partition_count(self, topic: str, timeout_s: float) -> int | None:
        """See `TopicMetadata.partition_count`. If a broker does not answer, `probe_if_due` probes
        it, because no other call notices its absence while nothing is sent."""
        assert self._topics is not None
        count = self._topics.partition_count(topic, timeout_s)
        if count is None and topic not in self.missing:
            self.liveness.connection_failed(f"the partitions of {topic} are not known")
        return count

    @property
    def missing(self) -> Mapping[str, TopicProblem]:
        """Topics that do not exist, are not ready or deny access to this user."""
        return {} if self._topics is None else self._topics.missing

    def forget_topic(self, topic: str) -> None:
        assert self._topics is not None
        self._topics.forget(topic)

    def admin(self) -> AdminClient:
        return AdminClient(self.connection(), logger=self._log)

    def connection(self) -> dict[str, Any]:
        return dict(connection(self.config))

    def poll(self, timeout_s: float, *, flush: bool = False) -> None:
        """Serve delivery callbacks. Raises a fatal error of the client or of a callback.

        With `flush`, the client sends without lingering, and the call waits until every message has
        a delivery report or `timeout_s` has passed.
        """
        producer = self.producer()
        try:
            if flush:
                producer.flush(timeout_s)
            else:
                producer.poll(timeout_s)
        except (KafkaException, SystemError) as error:
            self.on_error(kafka_error(error))
        self.raise_error()

    def probe_if_due(self) -> None:
        if self.liveness.is_probe_due():
            self._probe()

    def state(
        self,
        rejected: Mapping[str, TopicProblem] = MappingProxyType({}),
        *,
        others_pass: bool = True,
    ) -> SinkState:
        """`rejected` are topics for which a broker rejected an event. With `others_pass`, events of
        other topics overtake the events of an unavailable topic."""
        error = self.liveness.error()
        if self.liveness.is_unavailable() and error is not None:
            remedy = "Start the broker, or correct kafka.producer.bootstrap.servers."
            return SinkState(False, error, remedy=remedy, detail=self.liveness.reason)
        waiting = {**self.missing, **rejected} if self._producer is not None else {}
        if waiting:
            assert self._topics is not None
            has_others = others_pass and not self._topics.known <= waiting.keys()
            state = _waiting_state(waiting, has_others=has_others)
            user = self.config.get("sasl.username", "NAME")
            remedy = state.remedy.replace("BROKER", shlex.quote(self.servers)).replace(
                "User:NAME", shlex.quote(f"User:{user}")
            )
            return replace(state, remedy=remedy)
        if error is not None:
            remedy = "Check that every partition has min.insync.replicas replicas in sync."
            return SinkState(False, error, remedy=remedy)
        return SinkState(True, f"Kafka at {self.servers} accepts events")

    def on_error(self, error: KafkaError) -> None:
        """Handle an error that concerns no single message; the client calls this from `poll`."""
        denied = denied_access(error, "The Kafka broker")
        if denied is not None:
            self.fail(denied)
        elif error.fatal():
            self.fail(self._fatal(error))
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            # The client has already reported the cause for each broker.
            self.liveness.connection_failed(reason(error))

    def fail(self, error: SidecarError) -> Literal[False]:
        """Record the first fatal error. Always return False: no event failed individually."""
        if self._error is None:
            logger.debug("sink failed", extra=fields(reason=str(error)))
            self._error = error
        return False

    @property
    def has_failed(self) -> bool:
        return self._error is not None

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _probe(self) -> None:
        assert self._producer is not None
        try:
            self.liveness.probed(bool(self._producer.list_topics("", timeout=_PROBE_S).brokers))
        except KafkaException:
            self.liveness.probed(False)


def _waiting_state(waiting: Mapping[str, TopicProblem], *, has_others: bool) -> SinkState:
    """Build one state for all unavailable topics, with the remedy for the worst. The sink is
    healthy while it delivers events of other topics."""
    worst = min(waiting.values(), key=lambda each: _CODES.index(each.code))
    shown = [each.message for each in waiting.values()][:_SHOWN_TOPICS]
    if len(waiting) > _SHOWN_TOPICS:
        shown.append(f"{len(waiting) - _SHOWN_TOPICS} more topics wait")
    others = (
        "Events of other topics are delivered until the in-flight window is full"
        if has_others
        else "Until then no event of any topic is delivered"
    )
    message = f"{'; '.join(shown)}. {others}"
    return SinkState(has_others, message, tuple(waiting), worst.code, worst.remedy)


def kafka_error(raised: BaseException) -> KafkaError:
    """Extract the client's error from an exception; re-raise any other exception.

    The client raises a fatal error between callbacks. The next callback then runs with an exception
    set, which Python turns into a `SystemError` with that exception as its cause.
    """
    cause: BaseException | None = raised
    while cause is not None:
        if isinstance(cause, KafkaException):
            error: KafkaError = cause.args[0]
            return error
        cause = cause.__cause__
    raise raised


def rejected_setting(error: KafkaException, settings: Mapping[str, str]) -> ConfigError:
    """Build an error with property, value and the client's reason. `settings` have no prefix."""
    text = reason(error.args[0])
    named = _named(text)
    for name, value in settings.items():
        if named is not None and named in (name, ALIASES.get(name)):
            shown = shown_value(name, value)
            return ConfigError(
                f"`{PREFIX}{name}` cannot be `{shown}`: the Kafka client rejects it: {text}."
            )
    return ConfigError(f"The Kafka client rejects `{PREFIX}*`: {text}.")


def _named(text: str) -> str | None:
    """Find the client's name of the setting in its message."""
    match = _PROPERTY.search(text)
    if match is not None:
        return match[1] or match[2]
    return "sasl.mechanisms" if _MECHANISM.search(text) else None


def settings_problems(settings: Mapping[str, str]) -> list[str]:
    """Return mistakes in the settings that the client or the Java stores reveal offline."""
    try:
        config = dict(client_config(settings))
        config.pop("bootstrap.servers", None)
        Producer(config, logger=_SILENT)
    except ConfigError as error:
        return list(error.problems)
    except KafkaException as error:
        return list(rejected_setting(error, settings).problems)
    return []


class _ClientLog:
    """Logs librdkafka's messages, each kind once and then at growing intervals."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._repeated = RateLimitedLog(logger, clock=clock)

    def log(self, level: int, pattern: str, kind: str, client: str, text: str) -> None:
        """The client calls this with the pattern `%s [%s] %s`."""
        line = text.partition("]: ")[2] or text
        # The sink reports an error's effect on delivery, and most errors need no operator.
        self._repeated.log(kind, f"Kafka client: {line}", min(level, logging.INFO), kind=kind)
