"""What the client's words about TLS become."""

import pytest
from confluent_kafka import KafkaError

from sidecar.sinks.kafka.delivery_errors import reason

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
