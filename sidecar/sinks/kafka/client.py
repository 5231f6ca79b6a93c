"""The Kafka client of a sink: the producer, and what is known of its broker and its topics.

What sinks have in common, whether they send in transactions or not: settings, errors of the client
itself, how a broker that is away is noticed, and how that is said.
"""

import logging
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from sidecar.errors import SidecarError
from sidecar.logs import RateLimitedLog, fields
from sidecar.sinks.base import SinkState
from sidecar.sinks.kafka.broker_liveness import BrokerLiveness
from sidecar.sinks.kafka.config.client_config import client_config, connection
from sidecar.sinks.kafka.config.validation import rejected_setting
from sidecar.sinks.kafka.delivery_errors import denied_access, reason
from sidecar.sinks.kafka.topics.metadata import TopicCreation, TopicMetadata
from sidecar.sinks.kafka.unavailable_topics import TopicProblem

logger = logging.getLogger(__name__)

_FIRST_ANSWER_S = 5.0
_PROBE_S = 0.2
_SHOWN_TOPICS = 5
_CODES = ("topic_refused", "topic_missing", "topic_unavailable")


class KafkaClient:
    """One producer at a time, from `open` to `release`."""

    def __init__(
        self,
        settings: Mapping[str, str],
        creation: TopicCreation | None,
        fatal: Callable[[KafkaError], SidecarError],
        *,
        waits_when_refused: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings` are `kafka.producer.*` without the prefix. `fatal` says what to raise once the
        client has given up; a topic that is refused to this user is waited for, or raised, by
        `waits_when_refused`. `clock` gives seconds."""
        self.waits_when_refused = waits_when_refused
        self._settings = settings
        self.config: Mapping[str, str] = client_config(settings)
        self.servers = self.config.get("bootstrap.servers", "")
        self._creation = creation
        self._fatal = fatal
        self._clock = clock
        self._log = _ClientLog(clock)
        self._producer: Producer | None = None
        self._topics: TopicMetadata | None = None
        self._error: SidecarError | None = None
        self.liveness = BrokerLiveness(self.servers, clock)

    def open(self, settings: Mapping[str, Any]) -> Producer:
        """A new producer. `settings` win over those of the configuration. Raises ConfigError for
        such that the client does not take."""
        self._error = None
        self.liveness = BrokerLiveness(self.servers, self._clock)
        return self.replace_producer(settings)

    def replace_producer(self, settings: Mapping[str, Any]) -> Producer:
        """As `open`, in the place of a producer that has nothing to do; that one stays when the
        client does not take the settings."""
        config = {**self.config, **settings, "error_cb": self.on_error}
        try:
            producer = Producer(config, logger=self._log)
        except KafkaException as error:
            raise rejected_setting(error, self._settings) from error
        self._producer = producer
        self._topics = self.topics(self._creation)
        return producer

    def wait_for_broker(self) -> None:
        """Waits up to five seconds for a broker. Raises RefusedError when it refuses the login."""
        until_s = self._clock() + _FIRST_ANSWER_S
        self._probe()
        while self.liveness.is_unavailable() and self._clock() < until_s:
            self._probe()
            self.poll(0)

    def release(self) -> Producer | None:
        """The producer, which is not used by this object any more."""
        producer, self._producer = self._producer, None
        return producer

    def producer(self) -> Producer:
        """Raises what the client, or a callback, found to be fatal."""
        if self._producer is None:
            raise RuntimeError("the sink is not open")
        self.raise_error()
        return self._producer

    def topics(self, creation: TopicCreation | None) -> TopicMetadata:
        """Partition counts by this producer; a missing topic is made by `creation`."""
        assert self._producer is not None
        return TopicMetadata(
            self._producer.list_topics,
            self.admin,
            creation,
            refresh_s=int(self.config["topic.metadata.refresh.interval.ms"]) / 1000,
            waits_when_refused=self.waits_when_refused,
            clock=self._clock,
        )

    def partition_count(self, topic: str, timeout_s: float) -> int | None:
        """See `TopicMetadata.partition_count`. A broker that does not answer is probed
        by `probe_if_due`: while nothing is sent, no other call notices its absence."""
        assert self._topics is not None
        count = self._topics.partition_count(topic, timeout_s)
        if count is None and topic not in self.missing:
            self.liveness.connection_failed(f"the partitions of {topic} are not known")
        return count

    @property
    def missing(self) -> Mapping[str, TopicProblem]:
        """Topics that the broker does not have, or does not show to this user."""
        return {} if self._topics is None else self._topics.missing

    def forget_topic(self, topic: str) -> None:
        """As `TopicMetadata.forget` says."""
        assert self._topics is not None
        self._topics.forget(topic)

    def admin(self) -> AdminClient:
        return AdminClient(self.connection(), logger=self._log)

    def connection(self) -> dict[str, Any]:
        """How another client reaches the broker."""
        return dict(connection(self.config))

    def poll(self, timeout_s: float, *, flush: bool = False) -> None:
        """Let the client call back; raises what it, or a callback, found to be fatal. With `flush`
        it lets no message wait for others, and returns once all are answered."""
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

    def state(self, refused: Mapping[str, TopicProblem] = MappingProxyType({})) -> SinkState:
        """`refused` are topics that a broker does not write to."""
        trouble = self.liveness.error()
        if self.liveness.is_unavailable() and trouble is not None:
            remedy = "Start the broker, or correct kafka.producer.bootstrap.servers."
            return SinkState(False, trouble, remedy=remedy)
        waiting = {**self.missing, **refused} if self._producer is not None else {}
        if waiting:
            return _waiting_state(waiting)
        if trouble is not None:
            remedy = "See that every partition has min.insync.replicas replicas in sync."
            return SinkState(False, trouble, remedy=remedy)
        return SinkState(True, f"Kafka at {self.servers} takes events")

    def on_error(self, error: KafkaError) -> None:
        """An error that is not about one message; the client calls this from `poll`."""
        refused = denied_access(error, "The Kafka broker")
        if refused is not None:
            self.fail(refused)
        elif error.fatal():
            self.fail(self._fatal(error))
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            # That all are down follows the reasons why each is.
            self.liveness.connection_failed(reason(error))

    def fail(self, error: SidecarError) -> Literal[False]:
        """The first error counts. Always False: nothing failed alone."""
        if self._error is None:
            logger.debug("the sink stops", extra=fields(reason=str(error)))
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


def _waiting_state(waiting: Mapping[str, TopicProblem]) -> SinkState:
    """One message for all topics that wait; the first one of each kind says what to do."""
    worst = min(waiting.values(), key=lambda each: _CODES.index(each.code))
    shown = [each.message for each in waiting.values()][:_SHOWN_TOPICS]
    if len(waiting) > _SHOWN_TOPICS:
        shown.append(f"{len(waiting) - _SHOWN_TOPICS} more topics wait")
    message = f"{'; '.join(shown)}. Events of other topics are sent while the window has room"
    return SinkState(True, message, tuple(waiting), worst.code, worst.remedy)


def kafka_error(raised: BaseException) -> KafkaError:
    """The error of the client in an exception.

    The client raises a fatal error in the middle of its callbacks. A callback that comes behind it
    finds an exception set, and Python makes a `SystemError` of both, with the first as its cause.
    Raises what is given when it is no error of the client.
    """
    cause: BaseException | None = raised
    while cause is not None:
        if isinstance(cause, KafkaException):
            error: KafkaError = cause.args[0]
            return error
        cause = cause.__cause__
    raise raised


class _ClientLog:
    """Takes the lines of librdkafka; one of a kind is said once and then at growing intervals."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._repeated = RateLimitedLog(logger, clock=clock)

    def log(self, level: int, pattern: str, kind: str, client: str, text: str) -> None:
        """Called by the client with the pattern `%s [%s] %s`."""
        line = text.partition("]: ")[2] or text
        # What an error means for delivery is said by the sink.
        level = min(level, logging.WARNING)
        self._repeated.log(kind, "the Kafka client says", level, kind=kind, text=line)
