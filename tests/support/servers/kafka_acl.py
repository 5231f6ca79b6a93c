"""Brokers with logins and an authoriser, and pairs of brokers."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import free_port, wait_until

_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER = "cdc-agent"


def grant(broker: KafkaBroker, bindings: Sequence[AclBinding]) -> None:
    """Creates ACLs and waits until the broker applies them, which follows the controller's answer:
    an event that is sent earlier would be refused."""
    for future in broker.admin().create_acls(list(bindings)).values():
        future.result()
    filters = [_filter(binding) for binding in bindings]
    admin = broker.admin()
    wait_until(
        lambda: all(admin.describe_acls(each).result() for each in filters), f"rights {bindings}"
    )


class AuthorisingBroker(KafkaBroker):
    """Has a second listener with SCRAM logins and KRaft's `StandardAuthorizer`. Clients of the
    first one may do all; the user `cdc-agent` only what `allow` and
    `run_kafka_acls` let it."""

    def __init__(
        self, directory: Path, *, heap_mib: int = 256, auto_create_topics: bool = False
    ) -> None:
        super().__init__(directory, heap_mib=heap_mib, auto_create_topics=auto_create_topics)
        self.secured_port = free_port()

    @property
    def secured(self) -> str:
        """`host:port` of the listener with logins."""
        return f"127.0.0.1:{self.secured_port}"

    def set_password(self, password: str) -> None:
        """Creates or changes the login of `cdc-agent`."""
        from confluent_kafka.admin._scram import (
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialUpsertion,
        )

        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(USER, info, password.encode())
        for future in self.admin().alter_user_scram_credentials([change]).values():
            future.result()

    def allow(self, topic: str, operations: Sequence[AclOperation]) -> None:
        """Lets `cdc-agent` do something with one topic; `*` stands for all topics."""
        grant(self, [_binding(topic, operation) for operation in operations])

    def run_kafka_acls(self, command: str) -> None:
        """Does what a `kafka-acls.sh --add` command does, except that it asks this broker."""
        grant(self, list(acl_bindings(command)))

    def deny(self, topic: str, operation: AclOperation) -> None:
        """Takes back what `allow` gave."""
        given = _filter(_binding(topic, operation))
        for future in self.admin().delete_acls([given]).values():
            future.result()
        wait_until(lambda: not self.admin().describe_acls(given).result(), "the right to go")

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


class SecuredBroker(AuthorisingBroker):
    """Has logins by PLAIN too. `writer` may do all, `nobody` nothing, `half` what it is granted."""

    def _server_properties(self) -> str:
        users = " ".join(f'user_{name}="right"' for name in ("writer", "nobody", "half"))
        return super()._server_properties() + (
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256\n"
            f"listener.name.sasl_plaintext.plain.sasl.jaas.config={PLAIN} required {users};\n"
            "super.users=User:ANONYMOUS;User:writer\n"
        )


def scram_login(password: str) -> dict[str, str]:
    """Properties of an agent that logs in as `cdc-agent`."""
    return {
        "kafka.producer.security.protocol": "SASL_PLAINTEXT",
        "kafka.producer.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.producer.sasl.username": USER,
        "kafka.producer.sasl.password": password,
    }


def acl_bindings(command: str) -> Iterator[AclBinding]:
    """What a `kafka-acls.sh --add` command adds. Kafka publishes the tool in its archive alone,
    not on Maven Central; options that are not known here end the test."""
    program, *arguments = shlex.split(command)
    assert program == "kafka-acls.sh"
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--add", action="store_true", required=True)
    parser.add_argument("--allow-principal", required=True)
    parser.add_argument("--operation", action="append", required=True)
    parser.add_argument("--resource-pattern-type", default="literal")
    resources = {
        "topic": ResourceType.TOPIC,
        "group": ResourceType.GROUP,
        "transactional_id": ResourceType.TRANSACTIONAL_ID,
    }
    for name in resources:
        parser.add_argument(f"--{name.replace('_', '-')}", action="append", default=[])
    given = parser.parse_args(arguments)
    for resource, kind in resources.items():
        for name in getattr(given, resource):
            for operation in given.operation:
                yield AclBinding(
                    kind,
                    name,
                    ResourcePatternType[given.resource_pattern_type.upper()],
                    given.allow_principal,
                    "*",
                    _OPERATIONS[operation],
                    AclPermissionType.ALLOW,
                )


_OPERATIONS = {
    "Create": AclOperation.CREATE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
}


def _filter(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )


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
