"""The fingerprint of a configuration."""

from pathlib import Path

import pytest

from agent.config.model import AgentProperties
from sidecar.properties.loading import load
from sidecar.properties.show import configuration_fingerprint
from sidecar.properties.source import command_line_settings

BASE = {
    "topic.prefix": "shop",
    "offset.backing.store.dir": "/var/lib/cdc",
    "commit.log.relocation.dir": "/var/lib/cassandra/cdc_relocation",
    "kafka.producer.bootstrap.servers": "broker1:9092",
}


def fingerprint(**settings: str) -> str:
    names = {name.replace("__", "."): value for name, value in settings.items()}
    overrides = [f"{name}={value}" for name, value in {**BASE, **names}.items()]
    loaded = load(AgentProperties, [], overrides=command_line_settings(overrides))
    return configuration_fingerprint(loaded.properties)


def test_config_fingerprint_is_short_and_stable() -> None:
    assert len(fingerprint()) == 12
    assert int(fingerprint(), 16) >= 0
    assert fingerprint() == fingerprint()


@pytest.mark.parametrize(
    ("name", "value", "is_of_the_node"),
    [
        ("node.id", "node-7", True),
        ("cassandra.hosts", "10.0.0.7", True),
        ("http.host", "0.0.0.0", True),
        ("http.port", "9000", True),
        ("http.allowed.hosts", "node-7.example.com", True),
        ("kafka.producer.client.id", "node-7", True),
        ("kafka.producer.client.rack", "rack-7", True),
        ("topic.prefix", "other", False),
        ("inflight.max.events", "5", False),
        ("table.include.list", "shop[.]orders", False),
        ("kafka.producer.linger.ms", "5", False),
        ("kafka.producer.bootstrap.servers", "broker2:9092", False),
    ],
)
def test_fingerprint_ignores_node_specific_properties(
    name: str, value: str, is_of_the_node: bool
) -> None:
    assert (fingerprint(**{name: value}) == fingerprint()) is is_of_the_node


def test_fingerprint_ignores_explicit_defaults() -> None:
    assert fingerprint(**{"inflight.max.events": "100000"}) == fingerprint()


def test_fingerprint_ignores_secrets(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a-long-password")
    login = {"cassandra.username": "cdc", "cassandra.password": f"${{file:{secret}}}"}
    first = fingerprint(**login)
    secret.write_text("another-password")
    assert fingerprint(**login) == first


def test_fingerprint_ignores_order_of_settings() -> None:
    settings = {"kafka.producer.linger.ms": "5", "kafka.producer.acks": "all"}
    assert fingerprint(**settings) == fingerprint(**dict(reversed(settings.items())))
