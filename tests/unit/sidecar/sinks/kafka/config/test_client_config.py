"""Translation of the Java producer's settings to librdkafka."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from sidecar.errors import ConfigError
from sidecar.sinks.kafka.config import tls_stores
from sidecar.sinks.kafka.config.client_config import DEFAULTS, client_config, client_properties
from sidecar.sinks.kafka.config.java_names import (
    INERT,
    LIBRDKAFKA,
    RENAMED,
    SAME,
    TRANSLATED,
    UNSUPPORTED,
)
from sidecar.tls.store import TlsStore
from sidecar.tls.store_file import StoreFile

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
HOST_CHECK = "ssl.endpoint.identification.algorithm"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def config(**settings: str) -> Mapping[str, str]:
    """Translate settings whose names use `_` instead of dots."""
    return client_properties({n.replace("_", "."): v for n, v in settings.items()}).config


def problems(settings: Mapping[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        client_properties(settings)
    return caught.value.problems


@pytest.mark.parametrize("name", sorted(SAME | LIBRDKAFKA | set(RENAMED.values()) | set(DEFAULTS)))
def test_every_forwarded_setting_is_known_to_the_client(name: str) -> None:
    """The client answers with one error for unknown names and with others for bad values."""
    try:
        Producer({name: "\x01"}, logger=None)
    except KafkaException as error:
        assert "No such configuration property" not in str(error)
    except (TypeError, ValueError) as error:
        assert name in str(error)


def test_no_setting_belongs_to_two_groups() -> None:
    kinds = [SAME, RENAMED.keys(), TRANSLATED, INERT.keys(), UNSUPPORTED.keys(), LIBRDKAFKA]
    assert sum(map(len, kinds)) == len(set().union(*kinds))


def test_default_client_settings_are_used() -> None:
    chosen = config(bootstrap_servers="a:1,b:1")
    assert chosen == {**DEFAULTS, "bootstrap.servers": "a:1,b:1"}
    assert (chosen["acks"], chosen["enable.idempotence"]) == ("all", "true")
    assert (chosen["compression.type"], chosen["delivery.timeout.ms"]) == ("lz4", "0")
    Producer({**chosen})


def test_setting_overrides_the_client_default() -> None:
    assert config(linger_ms="7")["linger.ms"] == "7"
    assert "linger.ms" not in config(queue_buffering_max_ms="7")
    assert "compression.type" not in config(compression_codec="zstd")


@pytest.mark.parametrize(
    ("name", "value", "client_name", "client_value"),
    [
        ("acks", "-1", "acks", "all"),
        ("acks", "ALL", "acks", "all"),
        ("max.request.size", "2000000", "message.max.bytes", "2000000"),
        ("buffer.memory", "33554432", "queue.buffering.max.kbytes", "32768"),
        ("buffer.memory", "100", "queue.buffering.max.kbytes", "977"),
        ("queue.buffering.max.kbytes", "100", "queue.buffering.max.kbytes", "977"),
        ("send.buffer.bytes", "-1", "socket.send.buffer.bytes", "0"),
        ("receive.buffer.bytes", "65536", "socket.receive.buffer.bytes", "65536"),
        ("metadata.max.age.ms", "1000", "topic.metadata.refresh.interval.ms", "1000"),
        ("compression.zstd.level", "3", "compression.level", "3"),
        ("security.protocol", "SASL_SSL", "security.protocol", "sasl_ssl"),
        ("ssl.truststore.location", "/a/ca.pem", "ssl.ca.location", "/a/ca.pem"),
        ("ssl.truststore.certificates", "-----BEGIN", "ssl.ca.pem", "-----BEGIN"),
        ("ssl.keystore.location", "/a/me.p12", "ssl.keystore.location", "/a/me.p12"),
        ("ssl.keystore.location", "/a/me.pem", "ssl.key.location", "/a/me.pem"),
        (HOST_CHECK, "", HOST_CHECK, "none"),
        (HOST_CHECK, "HTTPS", HOST_CHECK, "https"),
        ("request.timeout.ms", "1000", "request.timeout.ms", "1000"),
    ],
)
def test_java_setting_is_translated(
    name: str, value: str, client_name: str, client_value: str
) -> None:
    assert client_properties({name: value}).config[client_name] == client_value


def test_declared_store_type_overrides_file_name() -> None:
    chosen = config(ssl_truststore_location="/a/ca", ssl_truststore_type="pem")
    assert chosen["ssl.ca.location"] == "/a/ca"
    chosen = config(
        ssl_keystore_location="/a/me.jks", ssl_keystore_type="PKCS12", ssl_keystore_password="x"
    )
    assert (chosen["ssl.keystore.location"], chosen["ssl.keystore.password"]) == ("/a/me.jks", "x")


@pytest.mark.parametrize(
    ("mechanism", "jaas", "name", "password"),
    [
        ("PLAIN", f'{PLAIN} required username="alice" password="s3 cret";', "alice", "s3 cret"),
        ("PLAIN", f"{PLAIN} required\n username='alice'\n password='a\"b' ;\n", "alice", 'a"b'),
        ("SCRAM-SHA-512", rf'{SCRAM} required username="a\"l" password=plain;', 'a"l', "plain"),
    ],
)
def test_jaas_login_is_translated(mechanism: str, jaas: str, name: str, password: str) -> None:
    chosen = client_properties({"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}).config
    assert (chosen["sasl.username"], chosen["sasl.password"]) == (name, password)
    assert "sasl.jaas.config" not in chosen


def test_java_stores_are_read_when_client_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration can be checked without its files."""
    settings = {
        "ssl.truststore.location": "/a/ca.p12",
        "ssl.keystore.location": "/a/me.jks",
        "ssl.keystore.password": "hidden-1",
        "ssl.key.password": "hidden-2",
    }
    assert "hidden" not in repr(client_properties(settings))
    with pytest.raises(ConfigError, match=r"`kafka\.producer\.ssl\.truststore\.location`"):
        client_config(settings)
    read: list[StoreFile] = []

    def read_identity(name: str, store: StoreFile) -> TlsStore:
        read.append(store)
        return TlsStore(b"key", b"chain")

    def read_trusted(name: str, store: StoreFile) -> bytes:
        read.append(store)
        return b"ca"

    monkeypatch.setattr(tls_stores, "read_trusted", read_trusted)
    monkeypatch.setattr(tls_stores, "read_identity", read_identity)
    found = client_config(settings)
    pems = ("ssl.ca.pem", "ssl.key.pem", "ssl.certificate.pem")
    assert [found[name] for name in pems] == ["ca", "key", "chain"]
    assert read == [
        StoreFile(Path("/a/ca.p12"), None),
        StoreFile(Path("/a/me.jks"), "hidden-1", "hidden-2"),
    ]


def test_all_producer_setting_errors_are_reported() -> None:
    assert problems(
        {"acks": "1", "linger.m": "5", "transactional.id": "x", "batch.size": "large"}
    ) == (
        "`kafka.producer.linger.m` is not a setting of a Kafka producer; the nearest one is "
        "`kafka.producer.linger.ms`.",
        "`kafka.producer.transactional.id` cannot be used: with `position.store=kafka` it is "
        "derived from the logical name.",
        "`kafka.producer.acks` must be `all`, not `1`: an event on a single broker can be lost "
        "after its offset is stored.",
        "`kafka.producer.batch.size` must be a whole number, not `large`.",
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"security.protocol": "TLS"}, "must be one of PLAINTEXT, SSL"),
        ({"sasl.jaas.config": "nonsense"}, "must read"),
        ({"sasl.jaas.config": "com.example.Login required x=1;"}, "only PlainLoginModule"),
        ({"sasl.jaas.config": f'{PLAIN} required username="a";'}, "a username and a password"),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="a" password="hidden";'},
            "is for PLAIN, but `kafka.producer.sasl.mechanism` is `GSSAPI`",
        ),
        ({"interceptor.classes": "com.example.I"}, "Java classes are not supported"),
    ],
)
def test_untranslatable_java_properties_are_reported(
    settings: Mapping[str, str], problem: str
) -> None:
    (found,) = problems(settings)
    assert problem in found
    assert "hidden" not in found


def test_inert_settings_are_warned_about() -> None:
    found = client_properties(dict.fromkeys(INERT, "x"))
    assert found.config == DEFAULTS
    assert len(found.warnings) == len(INERT)


def test_disabled_idempotence_limits_requests_in_flight_to_one() -> None:
    chosen = config(enable_idempotence="false")
    assert chosen["max.in.flight.requests.per.connection"] == "1"


def test_batch_size_defaults_to_at_most_request_size() -> None:
    assert config(max_request_size="50000")["batch.size"] == "50000"
    assert config(max_request_size="50000", batch_size="70000")["batch.size"] == "70000"


@pytest.mark.parametrize("largest", ["1000000", "3000000"])
def test_largest_event_fits_into_the_client_queue(largest: str) -> None:
    """Otherwise `produce` would always raise BufferError."""
    chosen = config(max_request_size=largest, buffer_memory="2097152")
    producer = Producer({**chosen, "bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
    # The client also counts its overhead per record.
    producer.produce("shop", b"x" * (int(largest) - 1000))
    producer.purge()


@pytest.mark.parametrize(
    ("given", "first_ms", "longest_ms"),
    [
        ({}, "1000", "10000"),
        ({"reconnect.backoff.max.ms": "500"}, "500", "500"),
        ({"reconnect.backoff.ms": "20000"}, "20000", "20000"),
        ({"reconnect.backoff.ms": "50"}, "50", "10000"),
    ],
)
def test_reconnect_backoff_limits_remain_consistent(
    given: Mapping[str, str], first_ms: str, longest_ms: str
) -> None:
    found = client_properties(given).config
    assert found["reconnect.backoff.ms"] == first_ms
    assert found["reconnect.backoff.max.ms"] == longest_ms
    Producer({**found, "bootstrap.servers": "127.0.0.1:1"})
