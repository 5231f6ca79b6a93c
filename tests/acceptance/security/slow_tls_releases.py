"""CQL over TLS with a client certificate, on the next release: the schema, what DESCRIBE adds to
it, and the refusal of an untrusted node. `test_cassandra.py` has the other cases, on 5.0.9."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.schema.node_schema import NodeSchema
from tests.support.cassandra_tls import connection, refusal
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.secure_broker import PASSWORD, Stores

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def secure_node(
    tmp_path_factory: pytest.TempPathFactory, stores: Stores
) -> Iterator[CassandraNode]:
    encryption = {
        "enabled": True,
        "optional": False,
        "keystore": str(stores.key_jks(stores.key("node of 6.0", "localhost"), "node-6")),
        "keystore_password": PASSWORD,
        "require_client_auth": True,
        "truststore": str(stores.trust_jks),
        "truststore_password": PASSWORD,
    }
    settings = NodeSettings(
        storage_compatibility_mode="NONE", yaml={"client_encryption_options": encryption}
    )
    directory = tmp_path_factory.mktemp("node")
    with CassandraNode(directory, version="6.0-alpha2", settings=settings) as node:
        yield node


def test_schema_and_write_options_over_tls(
    secure_node: CassandraNode, stores: Stores, tmp_path: Path
) -> None:
    pem = stores.key("agent of 6.0").pem(tmp_path / "client.pem")
    found = connection(tmp_path, secure_node, ca_path=stores.ca_pem, certificate_path=pem)
    try:
        found.rows(
            "CREATE KEYSPACE volatile WITH durable_writes = false AND replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        found.rows("CREATE TABLE volatile.t (k int PRIMARY KEY) WITH cdc = true")
        known = NodeSchema(found).fetch()
        assert "volatile" in {table.keyspace for table in known.schema.tables()}
        assert known.write_options is not None
        assert known.write_options.keyspaces["volatile"]["durable_writes"] == "false"
        assert known.write_options.tables["volatile.t"]["transactional_mode"] == "off"
    finally:
        found.close()


def test_an_untrusted_node_and_a_missing_certificate_are_named(
    secure_node: CassandraNode, stores: Stores, strangers: Stores, tmp_path: Path
) -> None:
    pem = stores.key("agent of 6.0").pem(tmp_path / "client.pem")
    untrusted = connection(tmp_path, secure_node, ca_path=strangers.ca_pem, certificate_path=pem)
    assert "trustStore.location" in refusal(untrusted)
    missing = connection(tmp_path, secure_node, ca_path=stores.ca_pem)
    assert "keyStore.location" in refusal(missing)
