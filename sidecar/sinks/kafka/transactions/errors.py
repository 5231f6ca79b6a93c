"""What the error of a transaction means, and what a person is told of it."""

from enum import Enum

from confluent_kafka import KafkaError

from sidecar.errors import (
    ConfigError,
    LockedError,
    RefusedError,
    SidecarError,
    SinkError,
    SinkRestartError,
)
from sidecar.sinks.kafka.config.java_names import PREFIX
from sidecar.sinks.kafka.delivery_errors import denied_access, reason

FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
    }
)


class Recovery(Enum):
    """What is done about an error of a call."""

    AGAIN = "again"
    """The same call."""
    ABORT = "abort"
    """The transaction; what was in it is sent again."""
    NONE = "none"
    """`final_error` says what the sink raises."""


def remedy(error: KafkaError) -> Recovery:
    if error.fatal() or error.code() in FENCED:
        return Recovery.NONE
    if error.retriable():
        return Recovery.AGAIN
    return Recovery.ABORT if error.txn_requires_abort() else Recovery.NONE


def final_error(
    error: KafkaError, transactional_id: str, open_for_s: float, timeout_s: float
) -> SidecarError:
    """What to raise. `open_for_s` is the age of the open transaction, 0 without one.

    Kafka ends a transaction that is open for longer than its timeout, and then says what it says
    when another instance has taken the transactional id. A client with the same id begins again in
    the first case, and must not in the second: it would throw out the other one.
    """
    if error.code() in FENCED:
        if open_for_s >= timeout_s:
            return SinkRestartError(
                f"Kafka ended a transaction that was open for {open_for_s:.0f} s; "
                f"{PREFIX}transaction.timeout.ms is {timeout_s * 1000:.0f}."
            )
        return LockedError(
            f"Another instance with the transactional id {transactional_id} took over. Run one "
            "agent for each logical name; what this one had not committed is not lost, the other "
            "one sends it."
        )
    if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return ConfigError(
            f"`{PREFIX}transaction.timeout.ms` is {timeout_s * 1000:.0f}, which is more than the "
            "broker's transaction.max.timeout.ms allows."
        )
    if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return RefusedError(
            f"Kafka refuses the transactional id {transactional_id} to this user. Allow it to "
            "write and describe this transactional id, or set position.store=file."
        )
    refused = denied_access(error, "The Kafka broker")
    if refused is not None:
        return refused
    if error.fatal():
        return SinkError(f"The Kafka client gave up: {reason(error)}.")
    # Whether such a transaction is committed is not known; the stored position will tell.
    return SinkRestartError(f"A Kafka transaction failed: {reason(error)}.")
