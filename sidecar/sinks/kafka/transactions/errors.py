"""Errors of transactions: how to recover, and which exception to raise."""

from enum import Enum

from confluent_kafka import KafkaError

from sidecar.errors import (
    AccessDeniedError,
    ConfigError,
    LockedError,
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
    AGAIN = "again"
    """Repeat the call."""
    ABORT = "abort"
    """Abort the transaction and send its events again."""
    NONE = "none"
    """Not recoverable; the sink raises `final_error`."""


def remedy(error: KafkaError) -> Recovery:
    if error.fatal() or error.code() in FENCED:
        return Recovery.NONE
    if error.retriable():
        return Recovery.AGAIN
    return Recovery.ABORT if error.txn_requires_abort() else Recovery.NONE


def final_error(
    error: KafkaError, transactional_id: str, open_for_s: float, timeout_s: float
) -> SidecarError:
    """Return the exception to raise. `open_for_s` is the age of the open transaction, else 0.

    Kafka reports the same error when a transaction exceeds its timeout and when another instance
    takes over the transactional id. In the first case the client restarts; in the second it must
    not, because it would fence the other instance.
    """
    if error.code() in FENCED:
        if open_for_s >= timeout_s:
            return SinkRestartError(
                f"Kafka ended a transaction that was open for {open_for_s:.0f} s; "
                f"{PREFIX}transaction.timeout.ms is {timeout_s * 1000:.0f}."
            )
        return LockedError(
            f"Another instance with the transactional id {transactional_id} took over. Run one "
            "agent for each topic.prefix and task.id, or set standby.enabled=true. No event is "
            "lost: the other instance sends what this one had not committed."
        )
    if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return ConfigError(
            f"`{PREFIX}transaction.timeout.ms` is {timeout_s * 1000:.0f}, which is more than the "
            "broker's transaction.max.timeout.ms allows."
        )
    if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return AccessDeniedError(
            f"Kafka denies this user the transactional id {transactional_id}. Allow it to "
            "write and describe this transactional id, or set position.store=file."
        )
    denied = denied_access(error, "The Kafka broker")
    if denied is not None:
        return denied
    if error.fatal():
        return SinkError(f"The Kafka client failed: {reason(error)}.")
    # Whether the transaction is committed is unknown; the stored position shows it.
    return SinkRestartError(f"A Kafka transaction failed: {reason(error)}.")
