"""The fingerprint of a configuration."""

from pathlib import Path

import pytest

from agent.config.model import AgentProperties
from sidecar.properties.fingerprint import configuration_fingerprint
from sidecar.properties.loading import load
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


def test_it_is_short_and_stable() -> None:
    assert len(fingerprint()) == 12
    assert int(fingerprint(), 16) >= 0
    assert fingerprint() == fingerprint()


@pytest.mark.parametrize(
    "setting",
    [
        {"node.id": "node-7"},
        {"cassandra.hosts": "10.0.0.7"},
        {"http.host": "0.0.0.0"},
        {"http.port": "9000"},
        {"http.allowed.hosts": "node-7.example.com"},
        {"kafka.producer.client.id": "node-7"},
        {"kafka.producer.client.rack": "rack-7"},
    ],
)
def test_properties_of_one_node_do_not_change_it(setting: dict[str, str]) -> None:
    assert fingerprint(**setting) == fingerprint()


@pytest.mark.parametrize(
    "setting",
    [
        {"topic.prefix": "other"},
        {"inflight.max.events": "5"},
        {"table.include.list": "shop[.]orders"},
        {"kafka.producer.linger.ms": "5"},
        {"kafka.producer.bootstrap.servers": "broker2:9092"},
    ],
)
def test_other_properties_change_it(setting: dict[str, str]) -> None:
    assert fingerprint(**setting) != fingerprint()


def test_a_default_that_is_written_down_does_not_change_it() -> None:
    assert fingerprint(**{"inflight.max.events": "100000"}) == fingerprint()


def test_a_secret_does_not_change_it(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a-long-password")
    login = {"cassandra.username": "cdc", "cassandra.password": f"${{file:{secret}}}"}
    first = fingerprint(**login)
    secret.write_text("another-password")
    assert fingerprint(**login) == first


def test_the_order_of_settings_does_not_change_it() -> None:
    settings = {"kafka.producer.linger.ms": "5", "kafka.producer.acks": "all"}
    assert fingerprint(**settings) == fingerprint(**dict(reversed(settings.items())))
