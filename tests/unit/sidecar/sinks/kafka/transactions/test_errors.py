"""Classification of transaction errors."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from sidecar.errors import (
    AccessDeniedError,
    ConfigError,
    LockedError,
    SidecarError,
    SinkError,
    SinkRestartError,
)
from sidecar.sinks.kafka.client import kafka_error
from sidecar.sinks.kafka.transactions.errors import Recovery, final_error, remedy


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KafkaError(KafkaError._TIMED_OUT, "", retriable=True), Recovery.AGAIN),
        (KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "", txn_requires_abort=True), Recovery.ABORT),
        (KafkaError(KafkaError._FENCED, "", fatal=True), Recovery.NONE),
        (KafkaError(KafkaError.PRODUCER_FENCED, "", txn_requires_abort=True), Recovery.NONE),
        (KafkaError(KafkaError._STATE, ""), Recovery.NONE),
    ],
)
def test_transaction_error_maps_to_recovery(error: KafkaError, expected: Recovery) -> None:
    assert remedy(error) is expected


@pytest.mark.parametrize(
    ("error", "open_for_s", "kind", "words"),
    [
        (KafkaError(KafkaError._FENCED, "", fatal=True), 1.0, LockedError, "cdc-sidecar-x took"),
        (
            KafkaError(KafkaError._FENCED, "", fatal=True),
            61.0,
            SinkRestartError,
            "open for 61 s; kafka.producer.transaction.timeout.ms is 60000.",
        ),
        (KafkaError(KafkaError.INVALID_TRANSACTION_TIMEOUT, ""), 0, ConfigError, "60000, which is"),
        (
            KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ""),
            0,
            AccessDeniedError,
            "set position.store=file",
        ),
        (KafkaError(KafkaError._AUTHENTICATION, "no"), 0, AccessDeniedError, "rejected the login"),
        (KafkaError(KafkaError._FATAL, "bug", fatal=True), 0, SinkError, "client failed: bug"),
        (KafkaError(KafkaError._STATE, "odd"), 0, SinkRestartError, "a Kafka transaction failed"),
    ],
)
def test_final_transaction_error_has_type_and_message(
    error: KafkaError, open_for_s: float, kind: type[SidecarError], words: str
) -> None:
    found = final_error(error, "cdc-sidecar-x", open_for_s, 60.0)
    assert type(found) is kind
    assert words.lower() in str(found).lower()


def test_client_error_is_extracted_from_python_error() -> None:
    cause = KafkaException(KafkaError(KafkaError._FENCED, "fenced", fatal=True))
    error = SystemError("a callback returned a result with an exception set")
    error.__cause__ = cause
    assert kafka_error(error) is cause.args[0]
    with pytest.raises(SystemError):
        kafka_error(SystemError("of Python's own"))
