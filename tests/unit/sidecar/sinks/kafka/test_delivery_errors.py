"""Translation of the client's error messages."""

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
def test_closed_tls_handshake_suggests_plaintext_listener(said: str) -> None:
    """Kafka's plaintext listener closes the handshake in one of these ways."""
    clause = reason(KafkaError(KafkaError._TRANSPORT, f"{_AT}: {said}"))
    assert "as a listener without TLS does: check kafka.producer.security.protocol" in clause


def test_later_disconnect_is_reported_unchanged() -> None:
    said = f"{_AT}: Disconnected: SSL connection closed by peer (after 8ms in state UP)"
    assert reason(KafkaError(KafkaError._TRANSPORT, said)) == said


@pytest.mark.parametrize("code", [KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE])
def test_oversized_event_rejection_contains_remedy(code: int) -> None:
    assert rejection(KafkaError(code, "Broker: too large")) == (
        "Broker: too large; raise max.message.bytes of the topic and "
        "kafka.producer.max.request.size, or exclude the column or field with field.exclude.list"
    )


def test_other_rejections_contain_no_size_remedy() -> None:
    assert rejection(KafkaError(KafkaError.INVALID_RECORD, "Broker: invalid")) == "Broker: invalid"
