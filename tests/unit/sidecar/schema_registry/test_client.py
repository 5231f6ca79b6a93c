"""The registry's client against a registry on loopback."""

import base64
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.schema_registry.client import RegistryClient, SchemaRejectedError
from sidecar.schema_registry.settings import RegistrySettings, Strategy, registry_settings
from tests.support.sinks.fake_registry import FakeRegistry

SCHEMA = json.dumps(
    {"type": "record", "name": "Key", "namespace": "a.b", "fields": [{"name": "k", "type": "int"}]}
)
PREFIX = "value.converter."
USER_INFO = {"basic.auth.credentials.source": "USER_INFO"}
TOKEN = {"bearer.auth.credentials.source": "STATIC_TOKEN"}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as registry:
        yield registry


def client(registry: FakeRegistry, **settings: str) -> RegistryClient:
    return client_of({"schema.registry.url": registry.url, **settings})


def client_of(settings: dict[str, str]) -> RegistryClient:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return RegistryClient(registry_settings(PREFIX, named, "value"))


def test_a_schema_is_registered_once(registry: FakeRegistry) -> None:
    asking = client(registry)
    assert asking.schema_id("demo.ks.t-value", SCHEMA) == 0
    assert asking.schema_id("other/one", '"string"') == 1
    assert client(registry).schema_id("demo.ks.t-value", SCHEMA) == 0
    assert registry.subjects == {"demo.ks.t-value": [SCHEMA], "other/one": ['"string"']}


def test_schema_is_looked_up_without_auto_registration(registry: FakeRegistry) -> None:
    asking = client(registry, auto_register_schemas="false")
    with pytest.raises(SchemaRejectedError, match=r"s-value: .*404: Schema not found"):
        asking.schema_id("s-value", SCHEMA)
    client(registry).schema_id("s-value", SCHEMA)
    assert asking.schema_id("s-value", SCHEMA) == 0


def test_latest_avro_version_is_used_if_encoding_matches(registry: FakeRegistry) -> None:
    asking = client(registry, auto_register_schemas="false", use_latest_version="true")
    documented = json.loads(SCHEMA) | {"doc": "of orders", "name": "a.b.Key"}
    del documented["namespace"]
    client(registry).schema_id("s", json.dumps(documented))
    assert asking.schema_id("s", SCHEMA) == 0
    documented["fields"].append({"name": "more", "type": "int"})
    client(registry).schema_id("s", json.dumps(documented))
    with pytest.raises(SchemaRejectedError, match="latest schema of s does not match the events"):
        asking.schema_id("s", SCHEMA)


def test_schema_id_is_verified_against_the_schema(registry: FakeRegistry) -> None:
    asking = client(registry)
    number = asking.schema_id("s", SCHEMA)
    other = asking.schema_id("s", SCHEMA.replace('"Key"', '"Other"'))
    asked = [asking.has_schema(each, SCHEMA) for each in (number, other, other + 1)]
    assert asked == [True, False, False]


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        *((status, SchemaRejectedError, f"of s: .*{status}: as planned") for status in (409, 422)),
        *((status, AccessDeniedError, f"denies access: .*{status}: as") for status in (401, 403)),
        *((status, UnavailableError, "as planned") for status in (429, 500, 503)),
    ],
)
def test_registry_error_status_maps_to_error_type(
    registry: FakeRegistry, status: int, error: type[Exception], message: str
) -> None:
    registry.mood = lambda method, subject: (status, {"message": "as planned"})
    with pytest.raises(error, match=message):
        client(registry).schema_id("s", SCHEMA)


@pytest.mark.parametrize(
    ("timeout_ms", "is_closed", "message"),
    [("20", False, "does not answer"), ("3600000", True, "registry is closed")],
)
def test_slow_registry_or_closed_client_raises_unavailable(
    registry: FakeRegistry, timeout_ms: str, is_closed: bool, message: str
) -> None:
    is_over = threading.Event()
    asking = client(registry, request_timeout_ms=timeout_ms)

    def wait(method: str, subject: str) -> None:
        if is_closed:
            asking.close()
        is_over.wait()

    registry.mood = wait
    try:
        with pytest.raises(UnavailableError, match=message):
            asking.schema_id("s", SCHEMA)
    finally:
        is_over.set()


def test_answer_without_schema_id_counts_as_unavailable(registry: FakeRegistry) -> None:
    registry.mood = lambda method, subject: (200, {"hello": "world"})
    with pytest.raises(UnavailableError, match="returns no 32-bit id"):
        client(registry).schema_id("s", SCHEMA)


def test_next_registry_address_is_tried(registry: FakeRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"http://127.0.0.1:{server.getsockname()[1]}"
    asking = client_of({"schema.registry.url": f"{gone}, {registry.url}/"})
    assert asking.schema_id("s", SCHEMA) == 0
    with pytest.raises(UnavailableError, match=r"does not answer"):
        client_of({"schema.registry.url": gone}).schema_id("s", SCHEMA)


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        (USER_INFO | {"basic.auth.user.info": "me:word"}, "Basic bWU6d29yZA=="),
        (TOKEN | {"bearer.auth.token": "abc"}, "Bearer abc"),
    ],
)
def test_client_sends_its_credentials(
    registry: FakeRegistry, settings: dict[str, str], header: str
) -> None:
    client(registry, **settings).schema_id("s", SCHEMA)
    assert registry.requests[0][2]["authorization"] == header


def test_registry_credentials_are_read_from_url(registry: FakeRegistry) -> None:
    settings = registry_settings(
        PREFIX, {"schema.registry.url": registry.url.replace("//", "//me:w%6frd@")}, "value"
    )
    assert "me" not in repr(settings)
    RegistryClient(settings).schema_id("s", SCHEMA)
    assert registry.requests[0][2]["authorization"] == "Basic bWU6d29yZA=="


def test_subject_follows_the_naming_strategy() -> None:
    def subject(name: str) -> str:
        settings = {"schema.registry.url": "http://h:1", "value.subject.name.strategy": name}
        strategy = registry_settings(PREFIX, settings, "value").strategy
        return strategy.subject("demo.ks.t", "value", "a.b.Envelope")

    package = "io.confluent.kafka.serializers.subject."
    assert subject(f"{package}TopicNameStrategy") == "demo.ks.t-value"
    assert subject(f"{package}RecordNameStrategy") == "a.b.Envelope"
    assert subject("TopicRecordNameStrategy") == "demo.ks.t-a.b.Envelope"
    assert RegistrySettings(("http://h:1",)).strategy is Strategy.TOPIC


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"schema.registry.url": ""}, "`value.converter.schema.registry.url` must be set"),
        ({"schema.registry.url": "registry:8081"}, "must be a list of addresses"),
        ({"auto.register.schemas": "maybe"}, "must be `true` or `false`, not `maybe`"),
        ({"value.subject.name.strategy": "com.example.Own"}, "must be one of TopicName"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "must be `URL` or `USER_INFO`"),
        (USER_INFO, "must be `user:password`"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "must be `STATIC_TOKEN`, not"),
        ({"request.timeout.ms": "0"}, "a whole number of milliseconds above 0"),
        ({"schema.registry.ssl.keystore.location": "/x/own.p12"}, "which does not exist"),
        ({"schema.registry.ssl.truststore.type": "BKS"}, "must be one of JKS, PKCS12, PEM"),
        (
            {"schema.registry.ssl.endpoint.identification.algorithm": "LDAPS"},
            "must be `https`, or empty to skip the check of host names, not `ldaps`",
        ),
        ({"schema.registry.ssl.truststore.location": "/x/ca.pem"}, "which does not exist"),
        ({"avro.remove.java.properties": "true"}, "is not a known setting of the Avro converter"),
    ],
)
def test_invalid_registry_setting_yields_one_error(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        registry_settings(PREFIX, {"schema.registry.url": "http://h:1", **settings}, "value")
    assert len(raised.value.problems) == 1
    assert problem in raised.value.problems[0]


def test_credentials_are_reread_when_access_is_denied(registry: FakeRegistry) -> None:
    password = "first"

    def now() -> RegistrySettings:
        login = {"schema.registry.url": registry.url, "basic.auth.user.info": f"cdc:{password}"}
        return registry_settings(PREFIX, USER_INFO | login, "value")

    def denies(method: str, subject: str) -> tuple[int, dict[str, str]] | None:
        header = registry.requests[-1][2]["authorization"].removeprefix("Basic ")
        is_right = base64.b64decode(header) == b"cdc:second"
        return None if is_right else (401, {"message": "no"})

    registry.mood = denies
    asking = RegistryClient(now(), now)
    with pytest.raises(AccessDeniedError):
        asking.schema_id("s", SCHEMA)
    assert len(registry.requests) == 1, "the login is the same"
    password = "second"
    assert asking.has_schema(asking.schema_id("s", SCHEMA), SCHEMA)
    assert len(registry.requests) == 4
