"""Connections to a node that speaks TLS, and why they are refused."""

from pathlib import Path

import pytest

from agent.config.loader import AgentConfig, load_config
from agent.node.connection import NodeConnection, node_connection
from sidecar.errors import UnavailableError
from tests.support.agents.minimal_configuration import minimal_configuration
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.certificates import Identity
from tests.support.servers.secure_broker import PASSWORD, Stores


def encryption(stores: Stores, identity: Identity, **changed: object) -> dict[str, object]:
    """`client_encryption_options` of a node that wants a certificate of its clients."""
    name = f"node-{identity.certificate.serial_number:x}"
    options = {
        "enabled": True,
        "optional": False,
        "keystore": str(stores.key_jks(identity, name)),
        "keystore_password": PASSWORD,
        "require_client_auth": True,
        "truststore": str(stores.trust_jks),
        "truststore_password": PASSWORD,
    }
    return {"client_encryption_options": {**options, **changed}}


def config(folder: Path, node: CassandraNode, **ssl: object) -> AgentConfig:
    properties = {
        "cassandra.hosts": "localhost",
        "cassandra.port": node.address.cql_port,
        "cassandra.ssl.enabled": "true",
        **{f"cassandra.ssl.{name.replace('_', '.')}": value for name, value in ssl.items()},
    }
    return load_config([minimal_configuration(folder, properties)])


def connection(folder: Path, node: CassandraNode, **ssl: object) -> NodeConnection:
    return node_connection(config(folder, node, **ssl))


def refusal(found: NodeConnection) -> str:
    try:
        with pytest.raises(UnavailableError) as raised:
            found.facts()
    finally:
        found.close()
    sentence = str(raised.value)
    assert "\n" not in sentence
    return sentence
