"""Finds out why an open transaction cannot be committed, and decides how to continue.

Kafka rejects events one by one, but one rejected event fails its transaction: the client purges all
later messages, and its calls fail. So a failed call or a purged message only makes the transaction
suspect; the cause may be in a pending delivery report.
"""

from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.errors import SinkError, SinkRestartError
from sidecar.sinks.base import FailedEvent
from sidecar.sinks.kafka.batch_size import BatchSize
from sidecar.sinks.kafka.client import KafkaClient
from sidecar.sinks.kafka.config.java_names import PREFIX
from sidecar.sinks.kafka.delivery_errors import (
    BATCH_REJECTED,
    EVENT_REJECTED,
    MESSAGE_TOO_LARGE,
    denied_access,
    reason,
    rejection,
)
from sidecar.sinks.kafka.in_flight import UNCONFIRMED, SentEvents, is_unconfirmed

_LAST_ANSWERS_S = 0.5
_PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""The client purged the message because its transaction failed or was aborted."""
_GIVEN_UP = frozenset({KafkaError._FATAL, KafkaError._FENCED})
"""The next call of the client raises the fatal error."""


class TransactionFailures:
    """The failures of one sink between `open` and `close`. The client records fatal errors."""

    def __init__(
        self,
        client: KafkaClient,
        batch_size: BatchSize,
        position_topic: str,
        exclude: Callable[[int], None],
        clock: Callable[[], float],
    ) -> None:
        """`exclude` receives the number of each rejected event; `clock` returns seconds."""
        self._client = client
        self._batch_size = batch_size
        self._position_topic = position_topic
        self._exclude = exclude
        self._clock = clock
        self._restart: SinkRestartError | None = None
        self.awaiting_dead_letter: set[int] = set()
        """Rejected events that are not yet dead letters."""
        self.failed: list[FailedEvent] = []
        self.reset()

    def reset(self) -> None:
        """Forget the transaction; its late reports are ignored."""
        self._since_s: float | None = None
        self._doubt: str | None = None
        self._is_explained = False
        self._reports: deque[tuple[SentEvents | None, KafkaError | None, Report]] = deque()
        """Failed reports: no `sent` for a position, no error for an unconfirmed event."""

    @property
    def is_failing(self) -> bool:
        return self._since_s is not None

    def callback(self, sent: SentEvents | None) -> Callable[[KafkaError | None, Report], None]:
        """Create a delivery callback for events or, without `sent`, for a position. It runs perhaps
        on a commit's thread, and queues failures for the sink's thread."""
        reports = self._reports

        def note(error: KafkaError | None, report: Report) -> None:
            if is_unconfirmed(report) if error is None else error.code() not in _GIVEN_UP:
                reports.append((sent, error, report))

        return note

    def read_reports(self, *, is_open: bool) -> None:
        while self._reports:
            sent, error, report = self._reports.popleft()
            if error is None:
                self._restart_for(UNCONFIRMED.format(report.topic()))
            elif error.code() not in _PURGED:
                self._read(sent, error, report)
            elif is_open:
                self.suspect("a transaction failed")

    def can_resend(self, *, is_settled: bool) -> bool:
        """Whether the sink can resend everything except the rejected events; False while this is
        unknown. Raises SinkRestartError if the pipeline must resend."""
        assert self._since_s is not None
        if not is_settled and self._clock() < self._since_s + _LAST_ANSWERS_S:
            return False
        if self._restart is None and self._doubt is not None and not self._is_explained:
            self._restart = SinkRestartError(f"Kafka: {self._doubt}.")
        if self._restart is not None:
            raise self._restart
        return True

    def suspect(self, why: str | None) -> None:
        """Record that the transaction cannot be committed; the cause may follow."""
        if self._since_s is None:
            self._since_s = self._clock()
        self._doubt = self._doubt or why

    def produce_failed(self, number: int, error: KafkaError) -> None:
        if error.code() in EVENT_REJECTED or error.code() in BATCH_REJECTED:
            self._reject(number, f"the Kafka client rejects it: {rejection(error)}")
        else:
            self.suspect(f"the client does not accept events: {reason(error)}")

    def position_rejected(self, error: KafkaError) -> None:
        if error.code() in EVENT_REJECTED or error.code() in MESSAGE_TOO_LARGE:
            self._client.fail(
                SinkError(
                    f"The topic {self._position_topic} (position.topic) rejects the position: "
                    f"{reason(error)}. Raise its max.message.bytes, and "
                    f"{PREFIX}max.request.size with it."
                )
            )
        else:
            self.suspect(f"the position is not stored: {reason(error)}")

    def _read(self, sent: SentEvents | None, error: KafkaError, report: Report) -> None:
        topic = report.topic()
        denied = denied_access(error, f"The topic {topic}")
        if denied is not None:
            self._client.fail(denied)
        elif sent is None:
            self.position_rejected(error)
        elif error.code() in EVENT_REJECTED:
            self._reject(sent.failed_number(report), f"Kafka rejects it: {reason(error)}")
        elif error.code() not in BATCH_REJECTED:
            self._batch_size.observe(error)
            self._restart_for(f"Kafka did not confirm events for {topic}: {reason(error)}")
        elif self._batch_size.was_alone(report):
            self._reject(sent.failed_number(report), self._batch_size.reason_alone(report, error))
        elif self._restart is None:
            self.suspect(None)
            self._restart = self._batch_size.shrink(report, error)

    def _reject(self, number: int | None, why: str) -> None:
        if number is None:
            self._restart_for(f"the client reports an event that was not sent: {why}")
            return
        self.suspect(None)
        self._is_explained = True
        self._exclude(number)
        self.awaiting_dead_letter.add(number)
        self.failed.append(FailedEvent(number, why))

    def _restart_for(self, why: str) -> None:
        """Restart the sink; the first reason is reported."""
        self.suspect(None)
        self._restart = self._restart or SinkRestartError(f"Kafka: {why}.")
