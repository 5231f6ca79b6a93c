"""Detection of secrets by name or value, and the removal of known secrets from texts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.properties.loading import load
from sidecar.properties.secrets import hiding, is_secret_name, shown_text, shown_value
from sidecar.properties.show import rows
from sidecar.properties.types import MASK
from sidecar.sinks.kafka.config.java_names import KNOWN
from tests.support.agents.property_models import ShopProperties

SECRETS = {
    "sasl.jaas.config",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.password",
}
"""Secret settings among all settings of a Kafka producer."""


def test_secret_producer_settings_match_known_list() -> None:
    assert {name for name in KNOWN if is_secret_name(name)} == SECRETS


@pytest.mark.parametrize(
    "name",
    [
        "value.converter.basic.auth.user.info",
        "value.converter.schema.registry.basic.auth.user.info",
        "value.converter.bearer.auth.token",
        "value.converter.schema.registry.ssl.keystore.password",
        "kafka.consumer.sasl.jaas.config",
        "commit.log.transfer.s3.access.key",
        "commit.log.transfer.azure.account_key",
        "signal.kafka.sasl.password",
        "notification.api-key",
        "heartbeat.PASSWD",
    ],
)
def test_secret_names_are_recognised_by_keywords(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "value.converter.basic.auth.credentials.source",
        "kafka.producer.sasl.oauthbearer.token.endpoint.url",
        "kafka.producer.ssl.keystore.location",
        "kafka.producer.ssl.key.location",
        "key.converter.schema.registry.url",
        "storage.credential.key.file",
        "kafka.producer.ssl.keystore.certificate.chain",
        "kafka.producer.sasl.oauthbearer.client.credentials.client.id",
    ],
)
def test_locations_of_secrets_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://user:hidden@host:8081,https://other:hidden@host", "http://********@host:8081,"),
        ("-----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY-----", "********"),
        ("-----BEGIN ENCRYPTED PRIVATE KEY----- hidden", "********"),
        ('a.b.LoginModule required password="hidden";', "********"),
        ("https://host/topic?token=hidden", "********"),
        ("https://host/topic", "https://host/topic"),
    ],
)
def test_secret_values_are_recognised_by_content(value: str, shown: str) -> None:
    assert shown_text(value).startswith(shown)
    assert "hidden" not in shown_value("some.setting", value)


def test_secret_next_to_a_reference_is_hidden(tmp_path: Path) -> None:
    path = tmp_path / "cdc.properties"
    path.write_text(
        "topic.prefix=shop\npassword=hidden${env:TAIL}\n"
        'kafka.producer.sasl.jaas.config=M required password="hidden" x="${env:TAIL}";\n'
        "kafka.producer.sasl.password=${env:TAIL}\n"
    )
    shown = rows(load(ShopProperties, [path], environment={"TAIL": "hidden-too"}))
    assert "hidden" not in repr(shown)
    assert "${env:TAIL}" in repr(shown)


def test_non_secret_login_values_remain_in_texts(tmp_path: Path) -> None:
    path = tmp_path / "cdc.properties"
    path.write_text(
        "topic.prefix=shop\n"
        "kafka.producer.sasl.oauthbearer.client.credentials.client.id=cdc-agent\n"
        "kafka.producer.sasl.oauthbearer.client.credentials.client.secret=hidden-1\n"
        "kafka.producer.sasl.jaas.config=M required "
        'oauth.token.endpoint.uri="https://login.shop:8443/token" oauth.client.id="cdc-agent" '
        'oauth.client.secret="hidden-2" keyTab="/etc/cdc-agent.keytab" serviceName="kafka-1" '
        'oauth.check.uri="https://login.shop/?token=hidden-3";\n'
    )
    hide = hiding(load(ShopProperties, [path]))
    said = "cdc-agent at https://login.shop:8443/token: /etc/cdc-agent.keytab, kafka-1"
    assert hide(said) == said
    for said in ("hidden-1", "hidden-2", "https://login.shop/?token=hidden-3"):
        assert hide(said) == "********"


SECRET = 'Pa"ss wörd-1'


@pytest.fixture
def hide(tmp_path: Path) -> Callable[[str], str]:
    """Return the function that hides secrets of every kind."""
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n")
    text = "\n".join(
        [
            "topic.prefix=shop",
            f"password={SECRET}",
            "pin=4711",
            'kafka.producer.sasl.jaas.config=M required username="user-name-1" '
            'password="in-a-login-2";',
            "kafka.producer.schema.registry.url=http://user-name-1:in-an-%61ddress-3@registry:8081",
            "kafka.producer.basic.auth.user.info=user-name-1:behind-a-colon-4",
            f"kafka.producer.ssl.keystore.key=${{file:{tmp_path}/key.pem}}",
            "kafka.producer.ssl.keystore.password=changeit",
        ]
    )
    (tmp_path / "cdc.properties").write_text(text, encoding="utf-8")
    return hiding(load(ShopProperties, [tmp_path / "cdc.properties"]))


@pytest.mark.parametrize(
    "said",
    [
        f"the login with {SECRET} failed",
        json.dumps({"reason": SECRET}),
        json.dumps({"reason": SECRET}, ensure_ascii=False),
        repr(SECRET),
        "wrong: in-a-login-2",
        "http://user-name-1:in-an-address-3@registry:8081",
        "Basic user-name-1:behind-a-colon-4",
        "bad key MIIEvQIBADANBgkqhkiG",
    ],
)
def test_secrets_are_removed_from_foreign_messages(hide: Callable[[str], str], said: str) -> None:
    hidden = hide(said)
    assert "********" in hidden
    for secret in ("ss w", "login-2", "address-3", "colon-4", "MIIE"):
        assert secret not in hidden


def test_short_secrets_and_plain_words_remain_in_texts(hide: Callable[[str], str]) -> None:
    """Such values also occur in unrelated texts."""
    said = "4711 events of user-name-1 at http://registry:8081; changeit"
    assert hide(said) == said


def test_texts_remain_unchanged_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "cdc.properties"
    path.write_text("topic.prefix=shop")
    assert hiding(load(ShopProperties, [path]))("any text") == "any text"


def test_reread_secret_is_hidden_too(tmp_path: Path) -> None:
    secret, path = tmp_path / "secret", tmp_path / "cdc.properties"
    secret.write_text("first-secret-1")
    path.write_text(f"topic.prefix=shop\npassword=${{file:{secret}}}\n")
    loaded = load(ShopProperties, [path])
    hide = hiding(loaded)
    secret.write_text("second-secret-2")
    assert hide("second-secret-2") == "second-secret-2"
    loaded.properties.reread()
    assert hide("first-secret-1 second-secret-2 shop") == f"{MASK} {MASK} shop"
