"""Messages that share a callback, for any content and order of delivery reports."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from sidecar.events import Message, NumberedBatch
from sidecar.sinks.kafka.in_flight import InFlightBatch
from tests.support.segments.batches import batch_of
from tests.support.sinks.kafka_sinks import delivery_report

SAFE, ALONE, LOST, UNREPORTED, UNCONFIRMED = range(5)
REFUSED = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large")
FATES = st.sampled_from([SAFE, SAFE, SAFE, ALONE, LOST, UNREPORTED, UNCONFIRMED])


class Answers:
    """Record acknowledgements and failures in place of the sink."""

    def __init__(self) -> None:
        self.acknowledged: list[range] = []
        self.failed: list[int | None] = []
        self.fails_alone = True

    def fail(self, sent: InFlightBatch, error: KafkaError | None, report: Any) -> bool:
        if self.fails_alone:
            self.failed.append(sent.failed_number(report))
        return self.fails_alone

    @property
    def numbers(self) -> list[int]:
        return [number for run in self.acknowledged for number in run]


def message(content: int) -> Message:
    """The content 0 is a tombstone."""
    return "t", b"", b"%d" % content if content else None, [], 0


def handed_over(contents: Sequence[int], first: int, answers: Answers) -> InFlightBatch:
    numbered = NumberedBatch("s", batch_of([message(content) for content in contents]), 1000)
    return InFlightBatch(numbered, first, answers.acknowledged.append, answers.fail)


def report(
    sent: InFlightBatch, content: int, error: KafkaError | None = None, offset: int | None = 0
) -> None:
    topic, key, value, *_ = message(content)
    sent(error, delivery_report(topic, key or None, value or None, offset))


@given(st.data())
def test_every_event_is_resolved_once_unless_lost(data: st.DataObject) -> None:
    """Contents repeat; equal events are interchangeable, so only the number of failures counts."""
    contents = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=30))
    first = data.draw(st.integers(0, len(contents) - 1))
    taken = data.draw(st.integers(0, len(contents) - first))
    fates = data.draw(st.lists(FATES | st.just(SAFE), min_size=taken, max_size=taken))
    refused = data.draw(st.sets(st.sampled_from(range(taken)))) if taken else set()
    answers = Answers()
    sent = handed_over(contents, first, answers)
    sent.confirm(taken, [1000 + first + index for index in refused])
    given_away = [index for index in range(taken) if index not in refused]
    for index in data.draw(st.permutations(given_away)):
        if fates[index] == UNREPORTED:
            continue
        answers.fails_alone = fates[index] == ALONE
        error = None if fates[index] in (SAFE, UNCONFIRMED) else REFUSED
        report(sent, contents[first + index], error, None if fates[index] == UNCONFIRMED else 0)
    failed = sorted(contents[first + index] for index in given_away if fates[index] == ALONE)
    assert None not in answers.failed
    numbers = [number for number in answers.failed if number is not None]
    assert len(numbers) == len(set(numbers))
    assert sorted(contents[number - 1000] for number in numbers) == failed
    if any(fates[index] in (LOST, UNREPORTED, UNCONFIRMED) for index in given_away):
        assert answers.acknowledged == []
        return
    others = {1000 + first + index for index in given_away} - set(numbers)
    assert sorted(answers.numbers) == sorted(others)
    assert all(run for run in answers.acknowledged)


def test_delivery_reports_before_confirmed_count_are_counted() -> None:
    answers = Answers()
    sent = handed_over([1, 2], 0, answers)
    report(sent, 1)
    sent.confirm(2)
    assert answers.acknowledged == []
    report(sent, 2)
    assert answers.acknowledged == [range(1000, 1002)]


def test_foreign_delivery_report_matches_no_event() -> None:
    answers = Answers()
    sent = handed_over([1, 2], 0, answers)
    sent.confirm(2)
    report(sent, 7, REFUSED)
    assert answers.failed == [None]
