"""When a message that was refused is known to be the cause."""

import pytest
from confluent_kafka import KafkaError

from sidecar.dead_letters.dead_letter import TOO_LARGE_REMEDY
from sidecar.sinks.kafka.batch_size import BatchSize
from tests.support.pipeline.fakes import FakeClock
from tests.support.sinks.kafka_sinks import delivery_report

INVALID = KafkaError(KafkaError.INVALID_RECORD)
TIME = KafkaError(KafkaError.INVALID_TIMESTAMP)
LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


SENT = delivery_report("shop", b"", bytes(300))
VERY_LARGE = delivery_report("shop", b"", bytes(2000))


def test_the_messages_of_a_batch_are_not_alone_because_the_next_one_is_smaller() -> None:
    sizes, _ = growing()
    for _ in range(2):
        assert not sizes.was_alone(SENT)
        sizes.shrink(SENT, INVALID)
    assert sizes.settings() == {"batch.size": 100}
    assert sizes.was_alone(SENT)


def test_batches_are_as_they_were_when_it_was_the_clock() -> None:
    sizes, _ = growing()
    sizes.shrink(SENT, INVALID)
    sizes.settings()
    sizes.observe(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert sizes.settings() == {"batch.size": 100}
    sizes.observe(TIME)
    assert sizes.settings() == {"batch.size": 1600}


@pytest.mark.parametrize(
    ("error", "words"),
    [(INVALID, "this machine (message.timestamp.after.max.ms)"), (LARGE, "max.message.bytes.")],
)
def test_rejected_batch_is_reported_with_its_likely_cause(error: KafkaError, words: str) -> None:
    assert words in str(growing()[0].shrink(SENT, error))


def test_only_oversized_events_are_reported_with_their_size() -> None:
    sizes, _ = growing(1)
    reason = sizes.reason_alone(SENT, LARGE)
    assert "its 300 bytes" in reason
    assert TOO_LARGE_REMEDY in reason
    assert "bytes" not in sizes.reason_alone(SENT, INVALID)
    assert "clock" not in sizes.reason_alone(SENT, INVALID)


def growing(size_bytes: int = 1600) -> tuple[BatchSize, FakeClock]:
    """Sizes that are in use, and their clock."""
    clock = FakeClock()
    sizes = BatchSize({"batch.size": str(size_bytes)}, clock=clock)
    sizes.settings()
    return sizes, clock


def refused(sizes: BatchSize) -> None:
    """Until it is alone, and known."""
    while not sizes.was_alone(SENT):
        sizes.shrink(SENT, INVALID)
        sizes.settings()
    sizes.reason_alone(SENT, INVALID)


def test_batches_grow_when_nothing_is_rejected_for_longer_each_time() -> None:
    sizes, clock = growing()
    assert not sizes.should_grow
    for quiet_s in (60, 120, 240, 480, 960, 1920, 3600, 3600):
        refused(sizes)
        clock.advance(quiet_s - 1)
        seen = [sizes.should_grow]
        clock.advance(1)
        seen.append(sizes.should_grow)
        sizes.grow()
        assert sizes.settings() == {"batch.size": 1600}
        assert [*seen, sizes.should_grow] == [False, True, False]


def test_a_rejection_long_after_batches_grew_is_the_first_of_its_kind() -> None:
    sizes, clock = growing()
    for _ in range(5):
        refused(sizes)
        clock.advance(60)
        assert sizes.should_grow
        sizes.grow()
        clock.advance(3600)


def test_one_that_is_too_large_for_any_batch_tells_nothing_of_batches() -> None:
    sizes, clock = growing()
    refused(sizes)
    for _ in range(3):
        clock.advance(20)
        assert sizes.was_alone(VERY_LARGE)
        sizes.reason_alone(VERY_LARGE, LARGE)
    assert sizes.should_grow


def test_one_that_cannot_grow_is_asked_again_later() -> None:
    sizes, clock = growing()
    refused(sizes)
    clock.advance(60)
    seen = [sizes.should_grow]
    sizes.postpone_growth()
    seen.append(sizes.should_grow)
    clock.advance(60)
    assert [*seen, sizes.should_grow] == [True, False, True]
    assert sizes.was_alone(SENT), "they are small still"


def test_a_rejection_begins_the_quiet_time_anew() -> None:
    sizes, clock = growing()
    refused(sizes)
    clock.advance(59)
    sizes.reason_alone(SENT, INVALID)
    clock.advance(59)
    seen = [sizes.should_grow]
    clock.advance(1)
    assert [*seen, sizes.should_grow] == [False, True]


def test_batches_do_not_stay_small_for_one_event_that_was_too_large() -> None:
    sizes, clock = growing(160000)
    while not sizes.was_alone(VERY_LARGE):
        sizes.shrink(VERY_LARGE, LARGE)
        sizes.settings()
    sizes.reason_alone(VERY_LARGE, LARGE)
    clock.advance(60)
    assert sizes.should_grow
    assert sizes.largest_settings() == {"batch.size": 160000}


def test_batches_that_a_topic_finds_too_large_stay_small() -> None:
    sizes, clock = growing(160000)
    sizes.shrink(SENT, LARGE)
    assert sizes.settings() == {"batch.size": 10000}
    clock.advance(10_000)
    assert not sizes.should_grow
    refused(sizes)
    clock.advance(60)
    sizes.grow()
    assert sizes.settings() == {"batch.size": 10000}
