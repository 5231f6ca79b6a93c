"""An authority, a broker and a node, started once for all tests in this package."""

from collections.abc import Iterator

import pytest

from tests.support.node.cassandra_tls import encryption
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.certificates import Authority
from tests.support.servers.secure_broker import SecureBroker, Stores


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(Authority(), tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, stores: Stores) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("kafka"), stores) as broker:
        broker.create_topic("events")
        yield broker


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    """Stores signed by an untrusted authority."""
    return Stores(Authority("somebody else"), tmp_path_factory.mktemp("strangers"))


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory, stores: Stores) -> Iterator[CassandraNode]:
    """Node that requires a client certificate; its own certificate is for `localhost` only."""
    settings = NodeSettings(yaml=encryption(stores, stores.key("node", "localhost")))
    with CassandraNode(tmp_path_factory.mktemp("node"), settings=settings) as node:
        yield node
