"""Real nodes whose TLS is refused: a certificate that has expired, TLS 1.1 alone, and none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.node.cassandra_tls import connection, refusal
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.certificates import Identity
from tests.support.servers.secure_broker import PASSWORD, Stores, allow_every_protocol

pytestmark = pytest.mark.servers


@contextmanager
def node(
    folder: Path, stores: Stores, identity: Identity, **encryption: object
) -> Iterator[CassandraNode]:
    options = {
        "enabled": True,
        "optional": False,
        "keystore": str(stores.key_jks(identity, folder.name)),
        "keystore_password": PASSWORD,
        **encryption,
    }
    settings = NodeSettings(
        yaml={"client_encryption_options": options},
        jvm_options=(allow_every_protocol(stores.directory),),
    )
    with CassandraNode(folder, settings=settings) as found:
        yield found


@pytest.mark.slow
def test_a_certificate_that_has_expired(stores: Stores, tmp_path: Path) -> None:
    """Neither is it accepted where names are not checked."""
    expired = stores.authority.signed("old node", host="localhost", is_expired=True)
    with node(tmp_path / "expired", stores, expired) as found:
        for checked in ("true", "false"):
            refused = connection(tmp_path, found, ca_path=stores.ca_pem, check_hostname=checked)
            sentence = refusal(refused)
            assert "the certificate of the node has expired: renew it" in sentence


@pytest.mark.slow
def test_tls_1_1_alone(stores: Stores, tmp_path: Path) -> None:
    own = stores.key("weak node", "localhost")
    with node(tmp_path / "weak", stores, own, accepted_protocols=["TLSv1.1"]) as found:
        sentence = refusal(connection(tmp_path, found, ca_path=stores.ca_pem))
        assert "supports neither TLS 1.2 nor 1.3" in sentence
        assert "accepted_protocols" in sentence


def test_no_tls(shared_node: CassandraNode, stores: Stores, tmp_path: Path) -> None:
    sentence = refusal(connection(tmp_path, shared_node, ca_path=stores.ca_pem))
    assert "the node does not use TLS on this port: check cassandra.ssl.enabled" in sentence
