"""Errors of a consumer group that the operator has to resolve."""

from confluent_kafka import KafkaError

from sidecar.errors import AccessDeniedError, ConfigError, SidecarError
from sidecar.sinks.kafka.delivery_errors import denied_access, reason


def group_error(error: KafkaError, group: str, session_timeout_ms: int) -> SidecarError | None:
    """The error to raise or report; None for one that the client resolves by itself."""
    match error.code():
        case KafkaError.GROUP_AUTHORIZATION_FAILED:
            return denied_group(group, reason(error))
        case KafkaError.INVALID_SESSION_TIMEOUT:
            return session_outside_limits(session_timeout_ms, "their limits")
        case KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            return ConfigError(
                f"The consumer group {group} has members of another kind: {reason(error)}. End "
                "them, or change topic.prefix."
            )
    return denied_access(error, f"The consumer group {group}")


def denied_group(group: str, why: str) -> AccessDeniedError:
    return AccessDeniedError(
        f"Kafka denies this user the consumer group {group}: {why}. Run "
        f"kafka-acls.sh --add --allow-principal User:NAME --operation Read --group {group}"
    )


def session_outside_limits(session_timeout_ms: int, limits: str) -> ConfigError:
    return ConfigError(
        f"`standby.session.timeout.ms` is {session_timeout_ms}; the brokers allow {limits} "
        "(group.min.session.timeout.ms, group.max.session.timeout.ms). Change it."
    )
