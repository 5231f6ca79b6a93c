"""A schema registry with TLS, configured by the properties of Confluent's serializer with Java's
stores."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sidecar.errors import ConfigError, UnavailableError
from sidecar.schema_registry.client import RegistryClient
from sidecar.schema_registry.settings import registry_settings
from tests.support.servers.certificates import server_context
from tests.support.servers.secure_broker import Stores
from tests.support.sinks.fake_registry import FakeRegistry

PREFIX = "value.converter."
SSL = "schema.registry.ssl."
SCHEMA = '{"type":"record","name":"Key","fields":[{"name":"k","type":"int"}]}'


@pytest.fixture
def registry(stores: Stores, tmp_path: Path) -> Iterator[FakeRegistry]:
    """Registry that requires a client certificate."""
    tls = server_context(tmp_path, stores.key("registry"), clients_of=stores.authority)
    with FakeRegistry(tls=tls) as started:
        yield started


@pytest.fixture
def other(stores: Stores, tmp_path: Path) -> Iterator[FakeRegistry]:
    """Registry with a certificate for another host."""
    with FakeRegistry(tls=server_context(tmp_path, stores.key("other", "r.example"))) as started:
        yield started


def trust(stores: Stores, kind: str) -> dict[str, str]:
    return stores.trust(kind, SSL) | {f"{SSL}truststore.type": kind}


def identity(stores: Stores, kind: str) -> dict[str, str]:
    named = {} if kind == "PEM" else {f"{SSL}keystore.type": kind}
    return stores.identity(kind, SSL) | named


def client(registry: FakeRegistry, *parts: Mapping[str, str]) -> RegistryClient:
    settings = {"schema.registry.url": registry.url}
    for part in parts:
        settings |= part
    return RegistryClient(registry_settings(PREFIX, settings, "value"))


def refusal(registry: FakeRegistry, *parts: Mapping[str, str]) -> str:
    """Message shown while the agent waits."""
    asking = client(registry, *parts)
    with pytest.raises(UnavailableError) as raised:
        asking.schema_id("orders-value", SCHEMA)
    asking.close()
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM"])
def test_registry_client_accepts_every_store_format(
    registry: FakeRegistry, stores: Stores, kind: str
) -> None:
    asking = client(registry, trust(stores, kind), identity(stores, kind))
    number = asking.schema_id("orders-value", SCHEMA)
    asking.close()
    assert registry.schemas[number] == SCHEMA


def test_registry_trust_store_needs_no_password_or_type(
    registry: FakeRegistry, stores: Stores
) -> None:
    trusting = {f"{SSL}truststore.location": str(stores.trust_jks)}
    asking = client(registry, trusting, identity(stores, "JKS"))
    assert asking.schema_id("orders-value", SCHEMA) >= 0
    asking.close()


def test_client_waits_if_the_registry_rejects_its_certificate(
    registry: FakeRegistry, stores: Stores, strangers: Stores
) -> None:
    """The network decides whether the server's reason arrives before the end of the connection."""
    for shown in ({}, identity(strangers, "JKS")):
        assert f"{registry.url} does not answer: " in refusal(
            registry, trust(stores, "PKCS12"), shown
        )
    assert registry.requests == []


def test_untrusted_registry_ca_is_reported(
    registry: FakeRegistry, stores: Stores, strangers: Stores
) -> None:
    said = refusal(registry, trust(strangers, "JKS"), identity(stores, "JKS"))
    assert "signed by an untrusted CA" in said


def test_registry_hostname_check_can_be_disabled(other: FakeRegistry, stores: Stores) -> None:
    trusting = trust(stores, "PKCS12")
    said = refusal(other, trusting, {f"{SSL}endpoint.identification.algorithm": "HTTPS"})
    assert "is for another host" in said
    asking = client(other, trusting, {f"{SSL}endpoint.identification.algorithm": ""})
    assert asking.schema_id("orders-value", SCHEMA) >= 0
    asking.close()
    # This disables only the hostname check: the client still rejects an untrusted CA.
    plain = {f"{SSL}endpoint.identification.algorithm": ""}
    assert "signed by an untrusted CA" in refusal(other, plain)


def test_unusable_registry_store_is_one_problem(
    registry: FakeRegistry, stores: Stores, tmp_path: Path
) -> None:
    store, key = f"`{PREFIX}{SSL}truststore", f"`{PREFIX}{SSL}keystore"
    wrong = {f"{SSL}truststore.password": "another"}
    nothing = tmp_path / "nothing.jks"
    nothing.write_bytes(b"nothing")
    encrypted = {f"{SSL}keystore.location": str(stores.ca_pem)}
    for settings, sentence in (
        (trust(stores, "JKS") | wrong, f"{store}.location`: .* its password is wrong"),
        (trust(stores, "PKCS12") | wrong, f"password is wrong, .* Check {store}.password`"),
        ({f"{SSL}truststore.location": str(nothing)}, "neither a PKCS12 nor a JKS store"),
        ({f"{SSL}keystore.location": str(stores.trust_p12)} | wrong, f"{key}.location`: "),
        (encrypted, f"{key}.location`: the certificate in .* and its key cannot be used"),
    ):
        with pytest.raises(ConfigError, match=sentence) as raised:
            client(registry, settings)
        assert len(raised.value.problems) == 1
