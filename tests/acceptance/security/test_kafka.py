"""A real broker with TLS, client certificates and logins, reached by the properties of Java."""

from collections.abc import Mapping

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it imports them without naming them
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from sidecar.sinks.kafka.topics.access import existing_topics
from tests.support.servers.secure_broker import PASSWORD, USER, USER_PASSWORD, SecureBroker, Stores

pytestmark = pytest.mark.servers

ANSWER_S = 60
REFUSAL_S = 3
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def trust(stores: Stores, kind: str) -> dict[str, str]:
    file = {"JKS": stores.trust_jks, "PKCS12": stores.trust_p12, "PEM": stores.ca_pem}[kind]
    password = {} if kind == "PEM" else {"ssl.truststore.password": PASSWORD}
    return {"ssl.truststore.location": str(file), **password}


def identity(stores: Stores, kind: str) -> dict[str, str]:
    own = stores.key("client")
    if kind == "PEM":
        return {"ssl.keystore.location": str(own.pem(stores.directory / "client.pem"))}
    make = {"JKS": stores.key_jks, "PKCS12": stores.key_p12}[kind]
    return {
        "ssl.keystore.location": str(make(own, f"client-{kind}")),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }


def ssl(port: int, *parts: Mapping[str, str]) -> dict[str, str]:
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "SSL"}
    for part in parts:
        settings |= part
    return settings


def refusal(settings: Mapping[str, str], kind: type[SidecarError] = UnavailableError) -> str:
    """The error that explains why no topic is listed."""
    with pytest.raises(kind) as raised:
        existing_topics(settings, REFUSAL_S)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM"])
def test_stores_of_every_form_are_taken(broker: SecureBroker, stores: Stores, kind: str) -> None:
    settings = ssl(broker.ssl_port, trust(stores, kind), identity(stores, kind))
    assert existing_topics(settings, ANSWER_S) == {"events": 1}


def test_a_trust_store_needs_no_password(broker: SecureBroker, stores: Stores) -> None:
    settings = ssl(
        broker.ssl_port,
        {"ssl.truststore.location": str(stores.trust_jks)},
        identity(stores, "JKS"),
    )
    assert existing_topics(settings, ANSWER_S) == {"events": 1}


def test_a_broker_of_another_authority_is_named(
    broker: SecureBroker, stores: Stores, strangers: Stores
) -> None:
    settings = ssl(broker.ssl_port, trust(strangers, "JKS"), identity(stores, "JKS"))
    assert "signed by an untrusted CA (kafka.producer.ssl.truststore.location)" in refusal(settings)


def test_a_broker_of_another_name_is_named(broker: SecureBroker, stores: Stores) -> None:
    settings = ssl(broker.other_port, trust(stores, "JKS"))
    assert "is for another host" in refusal(settings)
    settings["ssl.endpoint.identification.algorithm"] = ""
    assert existing_topics(settings, ANSWER_S) == {"events": 1}


def test_a_certificate_that_has_expired_is_named(broker: SecureBroker, stores: Stores) -> None:
    settings = ssl(broker.expired_port, trust(stores, "JKS"))
    assert "has expired" in refusal(settings)
    settings["ssl.endpoint.identification.algorithm"] = ""
    assert "has expired" in refusal(settings)


def test_a_broker_of_tls_1_1_alone_is_named(broker: SecureBroker, stores: Stores) -> None:
    sentence = refusal(ssl(broker.old_port, trust(stores, "JKS")))
    assert "supports neither TLS 1.2 nor 1.3" in sentence
    assert "ssl.enabled.protocols" in sentence


def test_a_broker_without_tls_is_named(broker: SecureBroker, stores: Stores) -> None:
    assert "check kafka.producer.security.protocol" in refusal(
        ssl(broker.port, trust(stores, "JKS"))
    )


def test_no_setting_allows_an_older_protocol(broker: SecureBroker, stores: Stores) -> None:
    """Java's client would take this."""
    older = {"ssl.enabled.protocols": "TLSv1.1,TLSv1", "ssl.protocol": "TLSv1.1"}
    sentence = refusal(ssl(broker.old_port, trust(stores, "JKS"), older), SidecarError)
    assert "TLS" in sentence


def test_a_missing_client_certificate_is_named(broker: SecureBroker, stores: Stores) -> None:
    settings = ssl(broker.ssl_port, trust(stores, "JKS"))
    assert "requires a client certificate" in refusal(settings)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"ssl.truststore.password": "other"}, "`kafka.producer.ssl.truststore.password`"),
        ({"ssl.truststore.location": "/no/trust.jks"}, "/no/trust.jks cannot be read"),
        ({"ssl.keystore.password": "other"}, "`kafka.producer.ssl.keystore.password`"),
        ({"ssl.key.password": "other"}, "its key has a different password"),
    ],
)
def test_a_store_that_cannot_be_read_is_named(
    stores: Stores, change: dict[str, str], part: str
) -> None:
    settings = ssl(1, trust(stores, "JKS"), identity(stores, "JKS"), change)
    sentence = refusal(settings, ConfigError)
    assert part in sentence
    assert PASSWORD not in sentence


def sasl(
    broker: SecureBroker, stores: Stores, mechanism: str, password: str = USER_PASSWORD
) -> dict[str, str]:
    return {
        "bootstrap.servers": f"127.0.0.1:{broker.sasl_port}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": (
            f'{_MODULES[mechanism]} required username="{USER}" password="{password}";'
        ),
        **trust(stores, "JKS"),
    }


@pytest.fixture(scope="module")
def scram_user(broker: SecureBroker) -> None:
    """A user whose password the broker keeps itself."""
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion(USER, info, USER_PASSWORD.encode())
        for done in broker.admin().alter_user_scram_credentials([change]).values():
            done.result(60)


@pytest.mark.usefixtures("scram_user")
@pytest.mark.parametrize("mechanism", list(_MODULES))
def test_a_login_in_java_form_is_taken(
    broker: SecureBroker, stores: Stores, mechanism: str
) -> None:
    assert existing_topics(sasl(broker, stores, mechanism), ANSWER_S) == {"events": 1}


@pytest.mark.usefixtures("scram_user")
@pytest.mark.parametrize("mechanism", list(_MODULES))
def test_a_wrong_password_is_a_rejection_that_does_not_show_it(
    broker: SecureBroker, stores: Stores, mechanism: str
) -> None:
    sentence = refusal(sasl(broker, stores, mechanism, "wrong-one"), AccessDeniedError)
    assert "kafka.producer.sasl" in sentence
    assert "wrong-one" not in sentence
