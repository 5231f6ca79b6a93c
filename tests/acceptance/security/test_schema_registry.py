"""A schema registry over TLS, reached by the properties of Confluent's serializer with the
stores that Java's programs have."""

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
    """It wants a certificate of its clients."""
    tls = server_context(tmp_path, stores.key("registry"), clients_of=stores.authority)
    with FakeRegistry(tls=tls) as started:
        yield started


@pytest.fixture
def other(stores: Stores, tmp_path: Path) -> Iterator[FakeRegistry]:
    """Its certificate names another host."""
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
    """The message shown while the agent waits."""
    asking = client(registry, *parts)
    with pytest.raises(UnavailableError) as raised:
        asking.schema_id("orders-value", SCHEMA)
    asking.close()
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM"])
def test_stores_of_every_form_are_taken(registry: FakeRegistry, stores: Stores, kind: str) -> None:
    asking = client(registry, trust(stores, kind), identity(stores, kind))
    number = asking.schema_id("orders-value", SCHEMA)
    asking.close()
    assert registry.schemas[number] == SCHEMA


def test_a_trust_store_needs_no_password_and_no_type(
    registry: FakeRegistry, stores: Stores
) -> None:
    trusting = {f"{SSL}truststore.location": str(stores.trust_jks)}
    asking = client(registry, trusting, identity(stores, "JKS"))
    assert asking.schema_id("orders-value", SCHEMA) >= 0
    asking.close()


def test_a_client_whose_certificate_is_missing_or_of_another_authority_waits(
    registry: FakeRegistry, stores: Stores, strangers: Stores
) -> None:
    """Whether the server's reason comes before the end of the connection is up to the network."""
    for shown in ({}, identity(strangers, "JKS")):
        assert f"{registry.url} does not answer: " in refusal(
            registry, trust(stores, "PKCS12"), shown
        )
    assert registry.requests == []


def test_a_registry_of_another_authority_is_not_trusted(
    registry: FakeRegistry, stores: Stores, strangers: Stores
) -> None:
    said = refusal(registry, trust(strangers, "JKS"), identity(stores, "JKS"))
    assert "signed by an untrusted CA" in said


def test_the_name_of_the_host_is_checked_unless_that_is_switched_off(
    other: FakeRegistry, stores: Stores
) -> None:
    trusting = trust(stores, "PKCS12")
    said = refusal(other, trusting, {f"{SSL}endpoint.identification.algorithm": "HTTPS"})
    assert "is for another host" in said
    asking = client(other, trusting, {f"{SSL}endpoint.identification.algorithm": ""})
    assert asking.schema_id("orders-value", SCHEMA) >= 0
    asking.close()
    # Switched off is the name alone: an authority that nobody trusts is none.
    plain = {f"{SSL}endpoint.identification.algorithm": ""}
    assert "signed by an untrusted CA" in refusal(other, plain)


def test_a_store_that_cannot_be_used_is_one_sentence(
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
