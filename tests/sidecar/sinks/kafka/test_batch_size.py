"""When a message that was refused is known to be the cause."""

from dataclasses import dataclass
from typing import cast

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import Message as Report

from sidecar.sinks.kafka.batch_size import BatchSize, refused_alone

INVALID = KafkaError(KafkaError.INVALID_RECORD)
TIME = KafkaError(KafkaError.INVALID_TIMESTAMP)
LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


@dataclass(frozen=True)
class _Sent:
    """What a report of the client gives of its message."""

    size_bytes: int

    def topic(self) -> str:
        return "shop"

    def key(self) -> bytes:
        return b""

    def value(self) -> bytes:
        return bytes(self.size_bytes)


SENT = cast(Report, _Sent(300))


def batches_of(size_bytes: int) -> BatchSize:
    sizes = BatchSize({"batch.size": str(size_bytes)})
    sizes.settings()
    return sizes


def test_the_messages_of_a_batch_are_not_alone_because_the_next_one_is_smaller() -> None:
    sizes = batches_of(1600)
    for _ in range(2):
        assert not sizes.held_alone(SENT)
        sizes.smaller(SENT, INVALID)
    assert sizes.settings() == {"batch.size": 100}
    assert sizes.held_alone(SENT)


def test_batches_are_as_they_were_when_it_was_the_clock() -> None:
    sizes = batches_of(1600)
    sizes.smaller(SENT, INVALID)
    sizes.settings()
    sizes.told(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert sizes.settings() == {"batch.size": 100}
    sizes.told(TIME)
    assert sizes.settings() == {"batch.size": 1600}


@pytest.mark.parametrize(
    ("error", "words"),
    [(INVALID, "this machine (message.timestamp.after.max.ms)"), (LARGE, "max.message.bytes.")],
)
def test_a_batch_that_is_refused_is_told_with_what_may_be_the_cause(
    error: KafkaError, words: str
) -> None:
    assert words in str(batches_of(1600).smaller(SENT, error))


def test_only_what_is_too_large_is_told_with_its_size() -> None:
    assert "its 300 bytes" in refused_alone(SENT, LARGE)
    assert "bytes" not in refused_alone(SENT, INVALID)
    assert "clock" not in refused_alone(SENT, INVALID)
