"""A real node that requires TLS and client certificates, and nodes whose TLS the agent rejects: an
expired certificate, TLS 1.1 only, no TLS."""

from pathlib import Path

import pytest

from agent.config.loader import load_config
from agent.node.connection import node_connection
from tests.support.node.cassandra_tls import config, connection, encryption, refusal
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.secure_broker import PASSWORD, Stores, allow_every_protocol

pytestmark = pytest.mark.servers


def stores_file(folder: Path, trust: Path, key: Path | None) -> Path:
    """File in the format of Debezium's `cassandra.ssl.config.path`."""
    lines = {"trustStore.location": str(trust), "trustStore.password": PASSWORD}
    if key is not None:
        lines |= {"keyStore.location": str(key), "keyStore.password": PASSWORD}
    path = folder / "ssl.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return path


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM"])
def test_node_connection_accepts_every_store_format(
    node: CassandraNode, stores: Stores, tmp_path: Path, kind: str
) -> None:
    own = stores.key("agent")
    match kind:
        case "JKS":
            file = stores_file(tmp_path, stores.trust_jks, stores.key_jks(own, "node-client"))
            found = connection(tmp_path, node, config_path=file)
        case "PKCS12":
            file = stores_file(tmp_path, stores.trust_p12, stores.key_p12(own, "node-client-12"))
            found = connection(tmp_path, node, config_path=file)
        case _:
            pem = own.pem(tmp_path / "client.pem")
            found = connection(tmp_path, node, ca_path=stores.ca_pem, certificate_path=pem)
    try:
        assert found.facts().cluster_name == "lab"
    finally:
        found.close()


def test_untrusted_node_ca_is_reported(
    node: CassandraNode, stores: Stores, strangers: Stores, tmp_path: Path
) -> None:
    pem = stores.key("agent").pem(tmp_path / "client.pem")
    found = connection(tmp_path, node, ca_path=strangers.ca_pem, certificate_path=pem)
    assert "trustStore.location" in refusal(found)


def test_node_hostname_mismatch_is_reported(
    node: CassandraNode, stores: Stores, tmp_path: Path
) -> None:
    """The certificate is valid for `localhost`; the agent connects to the address."""
    pem = stores.key("agent").pem(tmp_path / "client.pem")
    settings: dict[str, object] = {"ca_path": stores.ca_pem, "certificate_path": pem}
    path = config(tmp_path, node, **settings).loaded.settings[0].origin.file
    changed = load_config([Path(path)], ["cassandra.hosts=127.0.0.1"])
    assert "cassandra.ssl.check.hostname" in refusal(node_connection(changed))
    changed = load_config(
        [Path(path)], ["cassandra.hosts=127.0.0.1", "cassandra.ssl.check.hostname=false"]
    )
    found = node_connection(changed)
    try:
        assert found.facts().cluster_name == "lab"
    finally:
        found.close()


def test_missing_client_certificate_is_reported(
    node: CassandraNode, stores: Stores, tmp_path: Path
) -> None:
    assert "keyStore.location" in refusal(connection(tmp_path, node, ca_path=stores.ca_pem))


def test_plaintext_connection_to_tls_node_fails(node: CassandraNode, tmp_path: Path) -> None:
    assert "does not answer" in refusal(connection(tmp_path, node, enabled="false"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_expired", "options", "parts"),
    [
        (True, {}, ["the certificate of the node has expired: renew it"]),
        (
            False,
            {"accepted_protocols": ["TLSv1.1"]},
            ["supports neither TLS 1.2 nor 1.3", "accepted_protocols"],
        ),
    ],
    ids=["expired", "TLS 1.1 alone"],
)
def test_rejected_node_tls_is_reported(
    stores: Stores, tmp_path: Path, is_expired: bool, options: dict[str, object], parts: list[str]
) -> None:
    """The agent also rejects the node if hostname checks are off. The test starts its own node."""
    identity = stores.authority.signed("refused", host="localhost", is_expired=is_expired)
    settings = NodeSettings(
        yaml=encryption(stores, identity, require_client_auth=False, **options),
        jvm_options=(allow_every_protocol(stores.directory),),
    )
    with CassandraNode(tmp_path / "node", settings=settings) as node:
        for checked in ("true", "false"):
            refused = connection(tmp_path, node, ca_path=stores.ca_pem, check_hostname=checked)
            sentence = refusal(refused)
            assert all(part in sentence for part in parts)


def test_node_without_tls_is_reported(
    shared_node: CassandraNode, stores: Stores, tmp_path: Path
) -> None:
    sentence = refusal(connection(tmp_path, shared_node, ca_path=stores.ca_pem))
    assert "the node does not use TLS on this port: check cassandra.ssl.enabled" in sentence
