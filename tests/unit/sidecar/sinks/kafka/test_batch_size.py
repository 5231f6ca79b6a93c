"""When a rejected message is known to be the cause of the rejection."""

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


def test_smaller_next_batch_keeps_messages_together() -> None:
    sizes, _ = growing()
    for _ in range(2):
        assert not sizes.was_alone(SENT)
        sizes.shrink(SENT, INVALID)
    assert sizes.settings() == {"batch.size": 100}
    assert sizes.was_alone(SENT)


def test_clock_error_restores_batch_size() -> None:
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
    """Return batch sizes in use, and their clock."""
    clock = FakeClock()
    sizes = BatchSize({"batch.size": str(size_bytes)}, clock=clock)
    sizes.settings()
    return sizes, clock


def refused(sizes: BatchSize) -> None:
    """Shrink batches until the message is alone and reported."""
    while not sizes.was_alone(SENT):
        sizes.shrink(SENT, INVALID)
        sizes.settings()
    sizes.reason_alone(SENT, INVALID)


def test_batches_grow_after_increasing_quiet_times() -> None:
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


def test_quiet_time_resets_long_after_growth() -> None:
    sizes, clock = growing()
    for _ in range(5):
        refused(sizes)
        clock.advance(60)
        assert sizes.should_grow
        sizes.grow()
        clock.advance(3600)


def test_oversized_event_does_not_delay_batch_growth() -> None:
    sizes, clock = growing()
    refused(sizes)
    for _ in range(3):
        clock.advance(20)
        assert sizes.was_alone(VERY_LARGE)
        sizes.reason_alone(VERY_LARGE, LARGE)
    assert sizes.should_grow


def test_postponed_batch_growth_is_retried_later() -> None:
    sizes, clock = growing()
    refused(sizes)
    clock.advance(60)
    seen = [sizes.should_grow]
    sizes.postpone_growth()
    seen.append(sizes.should_grow)
    clock.advance(60)
    assert [*seen, sizes.should_grow] == [True, False, True]
    assert sizes.was_alone(SENT), "they are small still"


def test_rejection_restarts_the_quiet_time() -> None:
    sizes, clock = growing()
    refused(sizes)
    clock.advance(59)
    sizes.reason_alone(SENT, INVALID)
    clock.advance(59)
    seen = [sizes.should_grow]
    clock.advance(1)
    assert [*seen, sizes.should_grow] == [False, True]


def test_batches_may_grow_after_one_oversized_event() -> None:
    sizes, clock = growing(160000)
    while not sizes.was_alone(VERY_LARGE):
        sizes.shrink(VERY_LARGE, LARGE)
        sizes.settings()
    sizes.reason_alone(VERY_LARGE, LARGE)
    clock.advance(60)
    assert sizes.should_grow
    assert sizes.largest_settings() == {"batch.size": 160000}


def test_batches_too_large_for_topic_stay_small() -> None:
    sizes, clock = growing(160000)
    sizes.shrink(SENT, LARGE)
    assert sizes.settings() == {"batch.size": 10000}
    clock.advance(10_000)
    assert not sizes.should_grow
    refused(sizes)
    clock.advance(60)
    sizes.grow()
    assert sizes.settings() == {"batch.size": 10000}
