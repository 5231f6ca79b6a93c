"""Brokers with logins and an authoriser, and pairs of brokers."""

from collections.abc import Sequence
from pathlib import Path

from confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from tests.harness.kafka import KafkaBroker
from tests.harness.processes import free_port

_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
USER = "agent"


class AuthorisingBroker(KafkaBroker):
    """Has a second listener with SCRAM logins and KRaft's `StandardAuthorizer`. Clients of the
    first one may do all; the user `agent` only what `allow` lets it."""

    def __init__(self, directory: Path, *, heap_mib: int = 256) -> None:
        super().__init__(directory, heap_mib=heap_mib)
        self.secured_port = free_port()

    @property
    def secured(self) -> str:
        """`host:port` of the listener with logins."""
        return f"127.0.0.1:{self.secured_port}"

    def set_password(self, password: str) -> None:
        """Creates or changes the login of `agent`."""
        from confluent_kafka.admin._scram import (
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialUpsertion,
        )

        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(USER, info, password.encode())
        for future in self.admin().alter_user_scram_credentials([change]).values():
            future.result(60)

    def allow(self, topic: str, operations: Sequence[AclOperation]) -> None:
        """Lets `agent` do something with one topic; `*` stands for all topics."""
        wanted = [_binding(topic, operation) for operation in operations]
        for future in self.admin().create_acls(wanted).values():
            future.result(60)

    def deny(self, topic: str, operation: AclOperation) -> None:
        """Takes back what `allow` gave."""
        given = _binding(topic, operation)
        wanted = AclBindingFilter(
            given.restype,
            given.name,
            given.resource_pattern_type,
            given.principal,
            given.host,
            given.operation,
            given.permission_type,
        )
        for future in self.admin().delete_acls([wanted]).values():
            future.result(60)

    def _server_properties(self) -> str:
        plain, secured = f"PLAINTEXT://{self.bootstrap}", f"SASL_PLAINTEXT://{self.secured}"
        properties = {
            "listeners": f"{plain},{secured},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"{plain},{secured}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{_LOGIN} required;",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        return super()._server_properties() + "".join(f"{n}={v}\n" for n, v in properties.items())


def scram_login(password: str) -> dict[str, str]:
    """Properties of an agent that logs in as `agent`."""
    return {
        "kafka.producer.security.protocol": "SASL_PLAINTEXT",
        "kafka.producer.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.producer.sasl.username": USER,
        "kafka.producer.sasl.password": password,
    }


def _binding(topic: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        f"User:{USER}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
