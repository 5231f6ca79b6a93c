"""The Kafka sink: events to topics, idempotent and acknowledged by every replica in sync.

The partition of an event is its hash modulo the topic's partitions, so this module and not the
client chooses it.

A run of messages shares one delivery callback (`handed_over`), and a batch hands out the arguments
of `produce` ready made, so that Python does as little as it can between two calls of the client.
`produce_batch` costs half as much, but carries no headers, and the event id is one.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Report
from confluent_kafka.admin import AdminClient

from sidecar.delivery import Numbered
from sidecar.errors import ConfigError, SidecarError, SinkRestartError
from sidecar.logs import Repeated, fields
from sidecar.sinks.base import Failure, Outcome, SinkState
from sidecar.sinks.kafka.client_properties import PREFIX, client_properties, connection
from sidecar.sinks.kafka.contact import Contact
from sidecar.sinks.kafka.handed_over import HandedOver
from sidecar.sinks.kafka.refusals import OF_THE_BATCH, OF_THE_EVENT, reason, refusal
from sidecar.sinks.kafka.topics import TopicCreation, Topics

logger = logging.getLogger(__name__)

# Few enough that the messages made of them are still in the processor's cache when they are freed:
# about 1.5 µs of CPU an event less than with a thousand.
_CHUNK_EVENTS = 250
_FIRST_CONTACT_S = 5.0
_PROBE_S = 0.2
_BATCH_DIVISOR = 16


class KafkaSink:
    """Publishes to Kafka. A broker that is away is waited for; `state` says since when."""

    def __init__(
        self,
        settings: Mapping[str, str],
        creation: TopicCreation | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`settings` are `kafka.producer.*` without the prefix; `clock` gives seconds."""
        self._config: dict[str, Any] = dict(client_properties(settings).config)
        self._servers = self._config.get("bootstrap.servers", "")
        self._creation = creation
        self._clock = clock
        self._client_log = _ClientLog(clock)
        self._batch_bytes = int(self._config["batch.size"])
        self._producer: Producer | None = None
        self._reset()

    def _reset(self) -> None:
        self._acknowledged: list[range] = []
        self._failed: list[Failure] = []
        self._error: SidecarError | None = None
        self._is_closing = False
        self._contact = Contact(self._servers, self._clock)

    def open(self) -> None:
        """Waits up to five seconds for a broker. Raises ConfigError for settings that the client
        does not take, RefusedError when the broker refuses the login."""
        self._reset()
        config = self._config | {"batch.size": self._batch_bytes, "error_cb": self._on_client_error}
        try:
            self._producer = Producer(config, logger=self._client_log)
        except KafkaException as error:
            raise ConfigError(
                f"The Kafka client does not take `{PREFIX}*`: {reason(error.args[0])}."
            ) from error
        self._topics = Topics(
            self._producer.list_topics, self._admin, self._creation, clock=self._clock
        )
        self._first_contact(self._producer)

    def send(self, numbered: Numbered[Any, Any], start: int, deadline_s: float) -> int:
        producer = self._opened()
        until_s = self._clock() + deadline_s
        stop = len(numbered.batch)
        taken = start
        while taken < stop:
            chunk_stop = min(stop, taken + _CHUNK_EVENTS)
            reached = self._send_chunk(producer, numbered, taken, chunk_stop, until_s)
            self._serve(producer, 0)
            is_full = reached < chunk_stop
            taken = reached
            if is_full or self._clock() >= until_s:
                break
        if taken > start:
            self._contact.sent()
        return taken - start

    def _send_chunk(
        self,
        producer: Producer,
        numbered: Numbered[Any, Any],
        first: int,
        stop: int,
        until_s: float,
    ) -> int:
        """Hand events over until one cannot be; gives the first one that was not."""
        produce: Callable[..., None] = producer.produce

        def partitions(topic: str) -> int | None:
            return self._topics.partition_count(topic, max(0.0, until_s - self._clock()))

        handed = HandedOver(numbered, first, self._acknowledged.append, self._on_failure)
        refused: list[int] = []
        taken = 0
        try:
            for arguments in numbered.batch.produce_arguments(first, stop, partitions, handed):
                try:
                    produce(*arguments)
                except KafkaException as error:
                    number = numbered.first + first + taken
                    self._on_refused_call(producer, number, error.args[0])
                    refused.append(number)
                taken += 1
        except BufferError:
            pass
        handed.confirm(taken, refused)
        return first + taken

    def poll(self, timeout_s: float) -> Outcome:
        producer = self._opened()
        self._serve(producer, timeout_s)
        outcome = self._take_outcome()
        if outcome.acknowledged:
            self._contact.acknowledged(waiting=len(producer))
        elif self._contact.is_probe_due():
            self._probe(producer)
        return outcome

    def state(self) -> SinkState:
        trouble = self._contact.trouble()
        if self._contact.is_away() and trouble is not None:
            return SinkState(False, trouble)
        if self._producer is not None and self._topics.missing:
            missing = self._topics.missing
            return SinkState(False, "; ".join(missing.values()), tuple(missing))
        if trouble is not None:
            return SinkState(False, trouble)
        return SinkState(True, f"Kafka at {self._servers} takes events")

    def close(self, deadline_s: float) -> Outcome:
        producer, self._producer = self._producer, None
        if producer is None:
            return Outcome()
        # A client that has given up refuses to flush.
        with suppress(KafkaException):
            producer.flush(deadline_s)
        self._is_closing = True
        producer.purge()
        with suppress(KafkaException):
            producer.poll(0)
        return self._take_outcome()

    def _opened(self) -> Producer:
        if self._producer is None:
            raise RuntimeError("the sink is not open")
        self._raise_error()
        return self._producer

    def _serve(self, producer: Producer, timeout_s: float) -> None:
        """Let the client call back; raises what it, or a callback, found to be fatal."""
        try:
            producer.poll(timeout_s)
        except KafkaException as error:
            self._on_client_error(error.args[0])
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _take_outcome(self) -> Outcome:
        # The callbacks on their way hold the append of this very list.
        outcome = Outcome(tuple(self._acknowledged), tuple(self._failed))
        self._acknowledged.clear()
        self._failed.clear()
        return outcome

    def _admin(self) -> AdminClient:
        return AdminClient(connection(self._config), logger=self._client_log)

    def _first_contact(self, producer: Producer) -> None:
        until_s = self._clock() + _FIRST_CONTACT_S
        self._probe(producer)
        while self._contact.is_away() and self._clock() < until_s:
            self._probe(producer)
            self._serve(producer, 0)

    def _probe(self, producer: Producer) -> None:
        try:
            self._contact.probed(bool(producer.list_topics("", timeout=_PROBE_S).brokers))
        except KafkaException:
            self._contact.probed(False)

    def _on_client_error(self, error: KafkaError) -> None:
        """An error that is not about one message; the client calls this from `poll`."""
        refused = refusal(error, "The Kafka broker")
        if refused is not None:
            self._fail_all(refused)
        elif error.fatal():
            self._fail_all(SinkRestartError(f"The Kafka client gave up: {reason(error)}."))
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            # That all are down follows the reasons why each is.
            self._contact.failed(reason(error))

    def _on_failure(self, handed: HandedOver, error: KafkaError, report: Report) -> bool:
        """The delivery report of a message that was not delivered; True when it failed alone."""
        if self._is_closing:
            return False
        topic = report.topic()
        refused = refusal(error, f"The topic {topic}")
        if refused is not None:
            return self._fail_all(refused)
        if error.code() in OF_THE_EVENT:
            return self._fail_one(handed, report, f"Kafka refuses it: {reason(error)}")
        if error.code() in OF_THE_BATCH:
            return self._on_refused_batch(handed, error, report)
        return self._fail_all(
            SinkRestartError(f"Events for the topic {topic} were lost: {reason(error)}.")
        )

    def _fail_one(self, handed: HandedOver, report: Report, why: str) -> bool:
        number = handed.failed_number(report)
        if number is None:
            return self._fail_all(
                SinkRestartError(
                    f"The client reports on an event for the topic {report.topic()} that it was "
                    f"not given: {why}."
                )
            )
        self._failed.append(Failure(number, why))
        return True

    def _on_refused_batch(self, handed: HandedOver, error: KafkaError, report: Report) -> bool:
        """The client never puts a message that is larger than a batch together with others, so a
        larger one was refused alone; a smaller one is tried again in a smaller batch."""
        size_bytes = _size_bytes(report)
        if size_bytes > self._batch_bytes or self._batch_bytes == 1:
            why = f"Kafka refuses its {size_bytes} bytes: {reason(error)}"
            return self._fail_one(handed, report, why)
        if self._error is not None:
            return False
        self._batch_bytes = max(1, self._batch_bytes // _BATCH_DIVISOR)
        return self._fail_all(
            SinkRestartError(
                f"The topic {report.topic()} refuses a batch of events: {reason(error)}. Going on "
                f"with batches of {self._batch_bytes} bytes; set {PREFIX}batch.size below the "
                "topic's max.message.bytes."
            )
        )

    def _on_refused_call(self, producer: Producer, number: int, error: KafkaError) -> None:
        """The client did not even take the message."""
        if error.code() in OF_THE_EVENT or error.code() in OF_THE_BATCH:
            self._failed.append(Failure(number, f"the Kafka client refuses it: {reason(error)}"))
            return
        # What made the client give up is in a callback that waits.
        self._serve(producer, 0)
        raise SinkRestartError(f"The Kafka client does not take events: {reason(error)}.")

    def _fail_all(self, error: SidecarError) -> bool:
        """The first error counts. Always False: nothing failed alone."""
        if self._error is None:
            logger.debug("the sink stops", extra=fields(reason=str(error)))
            self._error = error
        return False


class _ClientLog:
    """Takes the lines of librdkafka; one of a kind is said once and then at growing intervals."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._repeated = Repeated(logger, clock=clock)

    def log(self, level: int, pattern: str, kind: str, client: str, text: str) -> None:
        """Called by the client with the pattern `%s [%s] %s`."""
        line = text.partition("]: ")[2] or text
        # What an error means for delivery is said by the sink.
        level = min(level, logging.WARNING)
        self._repeated.say(kind, "the Kafka client says", level, kind=kind, text=line)


def _size_bytes(report: Report) -> int:
    return len(report.key() or b"") + len(report.value() or b"")
