"""Why an open transaction cannot be committed, and what follows from it.

Kafka refuses events one by one, but a refused one spoils its transaction: the client throws away
all messages that wait behind it, and its calls fail. So an error of a call, or a message that was
thrown away, is a *doubt* only; the cause may be in a report that is on its way.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.errors import SinkError, SinkRestartError
from sidecar.sinks.base import FailedEvent
from sidecar.sinks.kafka.batch_size import BatchSize
from sidecar.sinks.kafka.client import KafkaClient
from sidecar.sinks.kafka.client_properties import PREFIX
from sidecar.sinks.kafka.handed_over import Handed
from sidecar.sinks.kafka.refusals import (
    OF_THE_BATCH,
    OF_THE_EVENT,
    TOO_LARGE,
    reason,
    refusal,
)

_LAST_ANSWERS_S = 0.5
_PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""The message is thrown away because its transaction has failed, or is aborted."""
_GIVEN_UP = frozenset({KafkaError._FATAL, KafkaError._FENCED})
"""That the client has given up is raised by its next call."""


@dataclass(frozen=True, slots=True)
class _FailedReport:
    """`handed` is None for a position."""

    handed: Handed | None
    error: KafkaError
    report: Report


@dataclass(frozen=True, slots=True)
class HandedInTransaction:
    """A callback, perhaps in the thread of a commit: it keeps what failed for the sink's thread.
    Without `handed` it is that of a position."""

    handed: Handed | None
    reports: deque[_FailedReport]

    def __call__(self, error: KafkaError | None, report: Report) -> None:
        if error is not None and error.code() not in _GIVEN_UP:
            self.reports.append(_FailedReport(self.handed, error, report))


class TransactionFailures:
    """Of one sink, from one `open` to the next. What is fatal goes to the client."""

    def __init__(
        self,
        client: KafkaClient,
        batch_size: BatchSize,
        position_topic: str,
        refuse: Callable[[int], None],
        clock: Callable[[], float],
    ) -> None:
        """`refuse` gets the number of each event that Kafka will never take; `clock` gives
        seconds."""
        self._client = client
        self._batch_size = batch_size
        self._position_topic = position_topic
        self._refuse_number = refuse
        self._clock = clock
        self._restart: SinkRestartError | None = None
        self.unsettled: set[int] = set()
        """Refused events that nobody has kept elsewhere."""
        self.failed: list[FailedEvent] = []
        self.forget()

    def forget(self) -> None:
        """The transaction is over; reports that are late belong to nothing."""
        self._since_s: float | None = None
        self._doubt: str | None = None
        self._is_explained = False
        self._reports: deque[_FailedReport] = deque()

    @property
    def is_failing(self) -> bool:
        return self._since_s is not None

    def callback(self, handed: Handed | None) -> HandedInTransaction:
        """For events, or without them for a position."""
        return HandedInTransaction(handed, self._reports)

    def read_reports(self, *, is_open: bool) -> None:
        while self._reports:
            failed = self._reports.popleft()
            if failed.error.code() not in _PURGED:
                self._read(failed)
            elif is_open:
                self.doubt("a transaction failed")

    def may_go_again(self, *, is_answered: bool) -> bool:
        """Whether everything but the refused events can be sent again; False as long as it is not
        known. Raises SinkRestartError when the pipeline has to."""
        assert self._since_s is not None
        if not is_answered and self._clock() < self._since_s + _LAST_ANSWERS_S:
            return False
        if self._restart is None and self._doubt is not None and not self._is_explained:
            self._restart = SinkRestartError(f"Kafka: {self._doubt}.")
        if self._restart is not None:
            raise self._restart
        return True

    def doubt(self, why: str | None) -> None:
        """The transaction cannot be committed, perhaps for a cause that is not known yet."""
        if self._since_s is None:
            self._since_s = self._clock()
        self._doubt = self._doubt or why

    def refused_call(self, number: int, error: KafkaError) -> None:
        """The client did not even take the message."""
        if error.code() in OF_THE_EVENT or error.code() in OF_THE_BATCH:
            self._refuse(number, f"the Kafka client refuses it: {reason(error)}")
        else:
            self.doubt(f"the client takes no events: {reason(error)}")

    def refused_position(self, error: KafkaError) -> None:
        if error.code() in OF_THE_EVENT or error.code() in TOO_LARGE:
            self._client.fail(
                SinkError(
                    f"The topic {self._position_topic} (position.topic) refuses the position: "
                    f"{reason(error)}. Raise its max.message.bytes, and "
                    f"{PREFIX}max.request.size with it."
                )
            )
        else:
            self.doubt(f"the position is not stored: {reason(error)}")

    def _read(self, failed: _FailedReport) -> None:
        handed, error, report = failed.handed, failed.error, failed.report
        topic = report.topic()
        refused = refusal(error, f"The topic {topic}")
        if refused is not None:
            self._client.fail(refused)
        elif handed is None:
            self.refused_position(error)
        elif error.code() in OF_THE_EVENT:
            self._refuse(handed.failed_number(report), f"Kafka refuses it: {reason(error)}")
        elif error.code() not in OF_THE_BATCH:
            self._batch_size.told(error)
            self._restart_for(f"events for the topic {topic} were lost: {reason(error)}")
        elif self._batch_size.held_alone(report):
            self._refuse(
                handed.failed_number(report), self._batch_size.refused_alone(report, error)
            )
        elif self._restart is None:
            self.doubt(None)
            self._restart = self._batch_size.smaller(report, error)

    def _refuse(self, number: int | None, why: str) -> None:
        if number is None:
            self._restart_for(f"the client reports on an event that it was not given: {why}")
            return
        self.doubt(None)
        self._is_explained = True
        self._refuse_number(number)
        self.unsettled.add(number)
        self.failed.append(FailedEvent(number, why))

    def _restart_for(self, why: str) -> None:
        """The first reason counts."""
        self.doubt(None)
        self._restart = self._restart or SinkRestartError(f"Kafka: {why}.")
