"""Checks the rights and settings of a consumer group without joining it."""

from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from sidecar.errors import SidecarError
from sidecar.leader_election.role import (
    denied_group,
    group_error,
    session_outside_limits,
)
from sidecar.sinks.kafka.config.client_config import client_config, connection

_LIMITS = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")


def group_problem(
    settings: Mapping[str, str], group: str, session_timeout_ms: int, timeout_s: float
) -> SidecarError | None:
    """Return why the agent cannot join the group with this session timeout: AccessDeniedError or
    ConfigError. None without a problem, or if the brokers do not reveal it."""
    client = AdminClient({**connection(client_config(settings)), "log_level": 0})
    try:
        return _denied(client, group, session_timeout_ms, timeout_s) or _outside_limits(
            client, session_timeout_ms, timeout_s
        )
    except (KafkaException, FutureTimeoutError):
        return None


def _denied(
    client: AdminClient, group: str, session_timeout_ms: int, timeout_s: float
) -> SidecarError | None:
    asked = client.describe_consumer_groups(
        [group], include_authorized_operations=True, request_timeout=timeout_s
    )
    try:
        operations = asked[group].result(timeout_s).authorized_operations
    except KafkaException as error:
        return group_error(error.args[0], group, session_timeout_ms)
    if operations and not {AclOperation.READ, AclOperation.ALL} & set(operations):
        return denied_group(group, "it may only describe the group")
    return None


def _outside_limits(
    client: AdminClient, session_timeout_ms: int, timeout_s: float
) -> SidecarError | None:
    brokers = client.list_topics(timeout=timeout_s).brokers
    for broker in list(brokers)[:1]:
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        futures = client.describe_configs([resource], request_timeout=timeout_s)
        configured: Mapping[str, Any] = futures[resource].result(timeout_s)
        least, most = (int(configured[name].value) for name in _LIMITS)
        if not least <= session_timeout_ms <= most:
            return session_outside_limits(session_timeout_ms, f"{least} to {most}")
    return None
