"""Both agents warn about credentials that leave the machine unencrypted."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent.check.checks as cassandra
import mongo_agent.check.checks as mongodb
from agent.check.probe import AgentProbe
from agent.config.loader import load_config
from mongo_agent.check.probe import MongoProbe
from mongo_agent.config.loading import load_config as load_mongo_config
from sidecar.check.check import Finding
from sidecar.check.clear_text import Login, check_clear_text, is_clear
from tests.support.agents.minimal_configuration import MINIMUM

VALUE = "value.converter"
URL = f"{VALUE}.schema.registry.url"
KAFKA = {"sink": "kafka", "kafka.producer.bootstrap.servers": "HOST:9092"}
SASL = KAFKA | {
    "kafka.producer.security.protocol": "SASL_PLAINTEXT",
    "kafka.producer.sasl.mechanism": "PLAIN",
    "kafka.producer.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
    'required username="u" password="p";',
}
REGISTRY = {VALUE: "io.confluent.connect.avro.AvroConverter", URL: "http://HOST:8081"}
BASIC = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "u:p"}
BEARER = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t"}
NODE = {"cassandra.hosts": "HOST", "cassandra.username": "u", "cassandra.password": "p"}
MONGO = {"mongodb.user": "u", "mongodb.password": "p", "mongodb.hosts": "rs0/HOST:27017"}
STRING = "mongodb.connection.string"
TOKEN = {"http.host": "HOST", "http.token.file": "/token"}
STORE, OTLP = "storage.s3.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT"
SPANS = {"tracing.enabled": "true", "env:OTEL_EXPORTER_OTLP_HEADERS": "authorization=t"}


def of_value(settings: dict[str, str]) -> dict[str, str]:
    return REGISTRY | {f"{VALUE}.{name}": value for name, value in settings.items()}


# Settings that send credentials to HOST in clear text, the reported property, and the remedy.
SHARED: list[tuple[dict[str, str], str, dict[str, str]]] = [
    (SASL, "security.protocol", {"kafka.producer.security.protocol": "SASL_SSL"}),
    (of_value(BASIC), URL, {URL: "https://HOST:8081"}),
    (of_value(BEARER), URL, {URL: "https://HOST:8081"}),
    (REGISTRY | {URL: "http://u:p@HOST:8081"}, URL, {URL: "https://u:p@HOST:8081"}),
    (TOKEN, "http.token.file", {"http.host": "127.0.0.1"}),
    ({"env:HTTPS_PROXY": "http://u:p@HOST:3128"}, "HTTPS_PROXY", {"env:HTTPS_PROXY": ""}),
]
CASSANDRA = [
    *SHARED,
    (NODE, "cassandra.password", {"cassandra.ssl.enabled": "true"}),
    ({STORE: "http://HOST:9000"}, STORE, {STORE: "https://HOST:9000"}),
    (SPANS | {f"env:{OTLP}": "http://HOST:4318"}, OTLP, {f"env:{OTLP}": "https://HOST:4318"}),
]
MONGODB = [
    *SHARED,
    (MONGO, "mongodb.password", {"mongodb.ssl.enabled": "true"}),
    ({STRING: "mongodb://u:p@HOST/"}, STRING, {STRING: "mongodb://u:p@HOST/?tls=true"}),
]


def findings(package: Any, settings: dict[str, str], host: str, folder: Path) -> Iterator[Finding]:
    values = {name: value.replace("HOST", host) for name, value in settings.items()}
    of_agent = {name: value for name, value in values.items() if not name.startswith("env:")}
    minimum = dict(MINIMUM)
    if package is mongodb:
        kept = ("topic.prefix", "sink", "offset.backing.store.dir")
        minimum = {name: MINIMUM[name] for name in kept}
        if not {STRING, "mongodb.hosts"} & of_agent.keys():
            minimum["mongodb.hosts"] = "localhost"
    path = folder / "agent.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in (minimum | of_agent).items()))
    none: Any = None
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
            patch.delenv(name, raising=False)
        for name, value in values.items():
            if name.startswith("env:"):
                patch.setitem(os.environ, name.removeprefix("env:"), value)
        if package is mongodb:
            probe: Any = MongoProbe(load_mongo_config([path]), none, none)
        else:
            probe = AgentProbe(load_config([path]), none, none)
        yield from package._credentials(probe)


@pytest.mark.parametrize(
    ("package", "settings", "name", "remedy"),
    [
        *(pytest.param(cassandra, *row, id=f"cassandra-{row[1]}") for row in CASSANDRA),
        *(pytest.param(mongodb, *row, id=f"mongodb-{row[1]}") for row in MONGODB),
    ],
)
def test_clear_text_credentials_are_reported_with_a_remedy(
    package: Any, settings: dict[str, str], name: str, remedy: dict[str, str], tmp_path: Path
) -> None:
    host = "10.1.2.3"
    (found,) = findings(package, settings, host, tmp_path)
    assert found.code == "credentials_in_clear"
    assert name in found.message
    assert host in found.message
    assert found.remedy
    assert list(findings(package, settings | remedy, host, tmp_path)) == []
    assert list(findings(package, settings, "127.0.0.1", tmp_path)) == []


HOSTS = st.sampled_from(["10.0.0.1", "node.example", "[2001:db8::1]", "0.0.0.0"])
LOOPBACK = st.sampled_from(
    ["localhost", "127.0.0.1", "127.8.9.1", "[::1]", "a.localhost", "LOCALHOST"]
)
FORMS = st.sampled_from(["{}", "{}:9092", "http://{}", "http://u:p@{}:80/x", "HTTP://{}/"])


@given(form=FORMS, far=HOSTS, near=LOOPBACK, is_encrypted=st.booleans())
def test_loopback_and_tls_are_exempt_from_clear_text_check(
    form: str, far: str, near: str, is_encrypted: bool
) -> None:
    has_scheme = "://" in form
    assert is_clear(form.format(far), is_encrypted=is_encrypted) == (has_scheme or not is_encrypted)
    assert not is_clear(form.format(near), is_encrypted=is_encrypted)
    with_tls = form.replace("http", "https").replace("HTTP", "https").format(far)
    assert not is_clear(with_tls, is_encrypted=True)
    found = list(check_clear_text([Login("p", (form.format(near), form.format(far)), False, "r")]))
    assert len(found) == 1
    assert far.strip("[]") in found[0].message
    assert "u:p" not in found[0].message
