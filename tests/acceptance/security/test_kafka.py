"""A real broker with TLS, client certificates and logins, configured by Java properties."""

from collections.abc import Mapping

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it imports them without naming them
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from sidecar.sinks.kafka.topics.access import existing_topics
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.servers.secure_broker import PASSWORD, USER, USER_PASSWORD, SecureBroker, Stores

pytestmark = pytest.mark.servers

ASK_S = 0.4
"""Timeout of one request: a rejection takes all of it, and the test repeats the request for a busy
broker."""
NO_NAME = {"ssl.endpoint.identification.algorithm": ""}
OLDER = {"ssl.enabled.protocols": "TLSv1.1,TLSv1", "ssl.protocol": "TLSv1.1"}
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def ssl(port: int, *parts: Mapping[str, str]) -> dict[str, str]:
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "SSL"}
    for part in parts:
        settings |= part
    return settings


def topics(settings: Mapping[str, str]) -> dict[str, int]:
    return existing_topics(settings, DEADLINE_S)


def refusal(
    settings: Mapping[str, str], *parts: str, kind: type[SidecarError] = UnavailableError
) -> str:
    """Error that explains why listing topics fails; contains these parts."""
    sentences = []

    def is_explained() -> bool:
        # The broker has not answered before its rejection.
        with pytest.raises((kind, UnavailableError)) as raised:
            existing_topics(settings, ASK_S)
        sentences.append(str(raised.value))
        return isinstance(raised.value, kind) and all(part in sentences[-1] for part in parts)

    wait_until(is_explained, f"a refusal with {parts}", state=lambda: sentences[-1])
    assert "\n" not in sentences[-1]
    assert sentences[-1].endswith(".")
    return sentences[-1]


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM"])
def test_broker_connection_accepts_every_store_format(
    broker: SecureBroker, stores: Stores, kind: str
) -> None:
    settings = ssl(broker.ssl_port, stores.trust(kind), stores.identity(kind))
    assert topics(settings) == {"events": 1}


def test_broker_trust_store_needs_no_password(broker: SecureBroker, stores: Stores) -> None:
    settings = ssl(
        broker.ssl_port, {"ssl.truststore.location": str(stores.trust_jks)}, stores.identity("JKS")
    )
    assert topics(settings) == {"events": 1}


@pytest.mark.parametrize(
    ("port", "settings", "part"),
    [
        pytest.param("ssl_port", {}, "requires a client certificate", id="no client certificate"),
        pytest.param("port", {}, "check kafka.producer.security.protocol", id="no TLS"),
        pytest.param("other_port", {}, "is for another host", id="another host"),
        pytest.param("expired_port", {}, "has expired", id="expired"),
        pytest.param("expired_port", NO_NAME, "has expired", id="expired, no check of the host"),
        pytest.param("old_port", {}, "neither TLS 1.2 nor 1.3: ssl.enabled.protocols", id="old"),
        # Java's client would accept this.
        pytest.param("old_port", OLDER, "TLS", id="an older protocol is no setting"),
    ],
)
def test_rejected_broker_tls_is_reported(
    broker: SecureBroker, stores: Stores, port: str, settings: dict[str, str], part: str
) -> None:
    asked = ssl(getattr(broker, port), stores.trust("JKS"), settings)
    refusal(asked, *part.split(": "), kind=SidecarError)


def test_untrusted_broker_ca_is_reported(
    broker: SecureBroker, stores: Stores, strangers: Stores
) -> None:
    settings = ssl(broker.ssl_port, strangers.trust("JKS"), stores.identity("JKS"))
    refusal(settings, "signed by an untrusted CA (kafka.producer.ssl.truststore.location)")


def test_disabled_hostname_check_accepts_another_host(broker: SecureBroker, stores: Stores) -> None:
    assert topics(ssl(broker.other_port, stores.trust("JKS"), NO_NAME)) == {"events": 1}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"ssl.truststore.password": "other"}, "`kafka.producer.ssl.truststore.password`"),
        ({"ssl.truststore.location": "/no/trust.jks"}, "/no/trust.jks cannot be read"),
        ({"ssl.keystore.password": "other"}, "`kafka.producer.ssl.keystore.password`"),
        ({"ssl.key.password": "other"}, "its key has a different password"),
    ],
)
def test_unreadable_store_is_reported(stores: Stores, change: dict[str, str], part: str) -> None:
    settings = ssl(1, stores.trust("JKS"), stores.identity("JKS"), change)
    assert PASSWORD not in refusal(settings, part, kind=ConfigError)


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
        **stores.trust("JKS"),
    }


@pytest.fixture(scope="module")
def scram_user(broker: SecureBroker) -> None:
    """User whose password the broker stores."""
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion(USER, info, USER_PASSWORD.encode())
        for done in broker.admin().alter_user_scram_credentials([change]).values():
            done.result()


@pytest.mark.usefixtures("scram_user")
@pytest.mark.parametrize("mechanism", list(_MODULES))
def test_java_jaas_login_is_accepted(broker: SecureBroker, stores: Stores, mechanism: str) -> None:
    assert topics(sasl(broker, stores, mechanism)) == {"events": 1}


@pytest.mark.usefixtures("scram_user")
@pytest.mark.parametrize("mechanism", list(_MODULES))
def test_rejected_kafka_login_hides_the_password(
    broker: SecureBroker, stores: Stores, mechanism: str
) -> None:
    settings = sasl(broker, stores, mechanism, "wrong-one")
    assert "wrong-one" not in refusal(settings, "kafka.producer.sasl", kind=AccessDeniedError)
