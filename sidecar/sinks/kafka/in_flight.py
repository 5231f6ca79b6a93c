"""Batches of messages in flight: passed to the client, but not all reported yet.

One object is the delivery callback of the whole batch, and acknowledges its numbers together when
the client has reported each message. A callback object per message would take a tenth of a
message's total CPU time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.events import NumberedBatch


def is_unconfirmed(report: Report) -> bool:
    """Whether a report of success is only the client's conclusion, so that the event may be lost.

    If the broker confirms a later event of a partition, the client reports all earlier ones as
    written, without offsets. A broker that has just created the partition, or has just become its
    leader, may reject a first request and then accept the second (KAFKA-15591).
    """
    return report.offset() is None


UNCONFIRMED = "later events of the topic {} are confirmed, but not all earlier ones"


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """Events first … stop-1 of a batch."""

    numbered: NumberedBatch[Any, Any]
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def numbers(self) -> range:
        return range(self.numbered.first + self.first, self.numbered.first + self.stop)


def runs_without(numbers: range, excluded: Iterable[int]) -> Iterator[range]:
    """Yield the runs of numbers between the excluded ones."""
    start = numbers.start
    for each in (*sorted(n for n in excluded if n in numbers), numbers.stop):
        if start < each:
            yield range(start, each)
        start = each + 1


class SentEvents:
    """`count` events of a batch, starting at its event `first`."""

    __slots__ = ("_count", "_failed", "_first", "_numbered")

    def __init__(self, numbered: NumberedBatch[Any, Any], first: int, count: int = 0) -> None:
        self._numbered = numbered
        self._first = first
        self._count = count
        self._failed: set[int] = set()

    def failed_number(self, report: Report) -> int | None:
        """Return the number of the failed event that a delivery report describes.

        Compares topic, key and value; events that are equal in all three are interchangeable.
        Returns None if no such event is left.
        """
        reported = (report.topic(), report.key() or b"", report.value() or b"")
        stop = self._first + self._count
        messages = self._numbered.batch.messages(self._first, stop)
        number = self._numbered.first + self._first
        for topic, key, value, _, _ in messages:
            if (topic, key, value or b"") == reported and number not in self._failed:
                self._failed.add(number)
                return number
            number += 1
        return None


@dataclass(frozen=True, slots=True)
class TopicSlice(BatchSlice):
    """The events of one topic in a slice, except the numbers `without`."""

    without: frozenset[int] = frozenset()


class InFlightBatch(SentEvents):
    """The delivery callback of these events. The client calls it from `poll` with an error or None,
    and the message."""

    __slots__ = ("_acknowledge", "_fail", "_is_confirmed", "_waiting")

    def __init__(
        self,
        numbered: NumberedBatch[Any, Any],
        first: int,
        acknowledge: Callable[[range], None],
        fail: Callable[["InFlightBatch", KafkaError | None, Report], bool],
    ) -> None:
        """`acknowledge` receives runs of numbers when every event is reported.

        `fail` receives each failure immediately, without an error if the broker has not confirmed
        the event (`is_unconfirmed`), and returns whether the event failed alone. If it did not, the
        batch is never acknowledged, because it is sent again.
        """
        super().__init__(numbered, first)
        self._acknowledge = acknowledge
        self._fail = fail
        self._waiting = 0
        self._is_confirmed = False

    @property
    def is_settled(self) -> bool:
        """Whether the client has reported every event."""
        return self._is_confirmed and not self._waiting

    def take_unsent(self, topic: str) -> TopicSlice | None:
        """Remove and return the events of a topic, to send them again; None if there are none."""
        stop = self._first + self._count
        messages = self._numbered.batch.messages(self._first, stop)
        first = self._numbered.first + self._first
        without = frozenset(self._failed)
        numbers = {
            number
            for number, message in enumerate(messages, first)
            if message[0] == topic and number not in without
        }
        if not numbers:
            return None
        self._failed |= numbers
        return TopicSlice(self._numbered, self._first, stop, without)

    def __call__(self, error: KafkaError | None, report: Report) -> None:
        # `is_unconfirmed` without its call, because this runs for each event.
        if (error is not None or report.offset() is None) and not self._fail(self, error, report):
            return
        self._waiting -= 1
        if not self._waiting:
            self._report()

    def confirm(self, count: int, rejected: Collection[int] = ()) -> None:
        """Record that the client accepted `count` events, except the numbers in `rejected`."""
        self._count = count
        self._failed.update(rejected)
        self._waiting += count - len(rejected)
        self._is_confirmed = True
        if not self._waiting:
            self._report()

    def _report(self) -> None:
        start = self._numbered.first + self._first
        for run in runs_without(range(start, start + self._count), self._failed):
            self._acknowledge(run)
