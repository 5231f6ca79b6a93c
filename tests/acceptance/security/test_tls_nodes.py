"""Real nodes whose TLS is refused: a certificate that has expired, TLS 1.1 alone, and none."""

from pathlib import Path

import pytest

from tests.support.node.cassandra_tls import connection, encryption, refusal
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.secure_broker import Stores, allow_every_protocol

pytestmark = pytest.mark.servers


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
def test_a_node_that_is_rejected_is_named(
    stores: Stores, tmp_path: Path, is_expired: bool, options: dict[str, object], parts: list[str]
) -> None:
    """Neither is it accepted where names are not checked. The node is the test's own."""
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


def test_no_tls(shared_node: CassandraNode, stores: Stores, tmp_path: Path) -> None:
    sentence = refusal(connection(tmp_path, shared_node, ca_path=stores.ca_pem))
    assert "the node does not use TLS on this port: check cassandra.ssl.enabled" in sentence
