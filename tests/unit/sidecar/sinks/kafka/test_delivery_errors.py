"""What the client's words become."""

import pytest
from confluent_kafka import KafkaError

from sidecar.sinks.kafka.delivery_errors import reason, rejection

_AT = "ssl://127.0.0.1:9093/bootstrap"


@pytest.mark.parametrize(
    "said",
    [
        "SSL handshake failed: Disconnected: SSL connection closed by peer: "
        "connecting to a PLAINTEXT broker listener? (after 1ms in state SSL_HANDSHAKE)",
        "SSL handshake failed: Disconnected: connection reset by peer: "
        "connecting to a PLAINTEXT broker listener? (after 0ms in state SSL_HANDSHAKE)",
        "Disconnected: SSL connection closed by peer (after 1ms in state SSL_HANDSHAKE)",
        "Disconnected: connection reset by peer (after 4ms in state SSL_HANDSHAKE)",
    ],
)
def test_a_listener_that_ends_the_handshake(said: str) -> None:
    """Kafka's plaintext listener does so, in one of these ways."""
    clause = reason(KafkaError(KafkaError._TRANSPORT, f"{_AT}: {said}"))
    assert "as a listener without TLS does: check kafka.producer.security.protocol" in clause


def test_a_connection_that_ends_later() -> None:
    said = f"{_AT}: Disconnected: SSL connection closed by peer (after 8ms in state UP)"
    assert reason(KafkaError(KafkaError._TRANSPORT, said)) == said


@pytest.mark.parametrize("code", [KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE])
def test_an_event_that_is_too_large_has_a_remedy(code: int) -> None:
    assert rejection(KafkaError(code, "Broker: too large")) == (
        "Broker: too large; raise max.message.bytes of the topic and "
        "kafka.producer.max.request.size, or exclude the column or field with field.exclude.list"
    )


def test_another_rejection_has_no_such_remedy() -> None:
    assert rejection(KafkaError(KafkaError.INVALID_RECORD, "Broker: invalid")) == "Broker: invalid"
