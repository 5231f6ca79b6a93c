"""The role of an agent in its consumer group, and errors that the operator has to resolve. Pure.

The owner of partition 0 of the position topic is the leader. Every other member stands by.

    CANDIDATE ──assigned──► STANDBY ◄──revoked── LEADER
        ▲                      └──assigned 0──────►┘
        └─────────── session lost, fenced ─────────┘
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from confluent_kafka import KafkaError

from sidecar.errors import AccessDeniedError, ConfigError, SidecarError
from sidecar.sinks.kafka.delivery_errors import denied_access, reason


def group_error(error: KafkaError, group: str, session_timeout_ms: int) -> SidecarError | None:
    """Return the error to raise or report, or None if the client recovers by itself."""
    match error.code():
        case KafkaError.GROUP_AUTHORIZATION_FAILED:
            return denied_group(group, reason(error))
        case KafkaError.INVALID_SESSION_TIMEOUT:
            return session_outside_limits(session_timeout_ms, "their limits")
        case KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            return ConfigError(
                f"The consumer group {group} has incompatible members: {reason(error)}. Stop "
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


LEADER_PARTITION = 0


class Role(StrEnum):
    CANDIDATE = "candidate"
    """Not a member of the group: before the first assignment, or without a session."""
    STANDBY = "standby"
    """A member of the group, while a different member leads."""
    LEADER = "leader"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The group added partitions, possibly none. Every member receives it after each rebalance."""

    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Revoked:
    """The group revoked partitions; the agent remains a member."""

    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class SessionLost:
    """The group has removed the agent, or its coordinator did not answer within the session."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """Another producer took over the transactional id during this term."""

    term: int


GroupEvent = Assigned | Revoked | SessionLost | Fenced


@dataclass(frozen=True, slots=True)
class Membership:
    role: Role = Role.CANDIDATE
    term: int = 0
    """Counts how often this agent became the leader."""
    must_rejoin: bool = False
    """Whether the agent must leave the group and rejoin."""


def after(before: Membership, event: GroupEvent) -> Membership:
    """Return the membership after an event.

    A fenced leader leaves the group, so that the group elects again even during a valid session.
    """
    match event:
        case Assigned(partitions):
            if before.role is Role.LEADER or before.must_rejoin:
                return before
            if LEADER_PARTITION in partitions:
                return Membership(Role.LEADER, before.term + 1)
            return replace(before, role=Role.STANDBY)
        case Revoked(partitions):
            if before.role is Role.LEADER and LEADER_PARTITION in partitions:
                return replace(before, role=Role.STANDBY)
        case SessionLost():
            return Membership(Role.CANDIDATE, before.term)
        case Fenced(term):
            if before.role is Role.LEADER and before.term == term:
                return Membership(Role.CANDIDATE, before.term, must_rejoin=True)
    return before
