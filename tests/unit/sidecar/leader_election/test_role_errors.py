"""Errors of the consumer group, with the operator's remedy."""

import pytest
from confluent_kafka import KafkaError

from sidecar.errors import AccessDeniedError, ConfigError, SidecarError
from sidecar.leader_election.role import group_error


@pytest.mark.parametrize(
    ("code", "kind", "part"),
    [
        (KafkaError.GROUP_AUTHORIZATION_FAILED, AccessDeniedError, "--operation Read --group g"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AccessDeniedError, "denies access"),
        (KafkaError._AUTHENTICATION, AccessDeniedError, "rejected the login"),
        (KafkaError.INVALID_SESSION_TIMEOUT, ConfigError, "standby.session.timeout.ms` is 3000"),
        (KafkaError.INCONSISTENT_GROUP_PROTOCOL, ConfigError, "incompatible members"),
    ],
)
def test_permanent_group_errors_contain_remedy(
    code: int, kind: type[SidecarError], part: str
) -> None:
    found = group_error(KafkaError(code), "g", 3000)
    assert isinstance(found, kind)
    assert part in str(found)


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError.COORDINATOR_NOT_AVAILABLE])
def test_transient_group_errors_are_ignored(code: int) -> None:
    assert group_error(KafkaError(code), "g", 3000) is None
