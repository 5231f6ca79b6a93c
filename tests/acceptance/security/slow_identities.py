"""Cassandra 5.0 with client certificates as logins and with the CIDR authorizer, as documented for
secured clusters."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cassandra.cluster import Session

from agent.config.loader import load_config
from agent.node.connection import node_connection
from sidecar.errors import SidecarError
from tests.support.node.cassandra_logins import LOGINS, logged_in
from tests.support.node.cassandra_tls import config, connection, encryption
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cassandra_tools import nodetool
from tests.support.servers.processes import wait_until
from tests.support.servers.secure_broker import Stores

pytestmark = pytest.mark.servers

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "secured-clusters.md"
SECRET = "s3cret-of-agent"
IDENTITY = "spiffe://example.org/cdc-agent"


def documented(language: str, heading: str) -> list[str]:
    """Lines of the first code block in this language below a heading of the page, joined by
    statement."""
    text = DOCUMENT.read_text().split(f"### {heading}\n", 1)[1]
    block = text.split(f"```{language}\n", 1)[1].split("```", 1)[0]
    return [line for line in block.splitlines() if line and not line.startswith(("--", "#"))]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, stores: Stores) -> Iterator[CassandraNode]:
    settings = NodeSettings(
        yaml={
            **LOGINS,
            "authenticator": {
                "class_name": "MutualTlsWithPasswordFallbackAuthenticator",
                "parameters": {"validator_class_name": "SpiffeCertificateValidator"},
            },
            "cidr_authorizer": {
                "class_name": "CassandraCIDRAuthorizer",
                "parameters": {
                    "cidr_authorizer_mode": "ENFORCE",
                    "cidr_groups_cache_refresh_interval": 1,
                },
            },
            "credentials_validity": "0ms",
            **encryption(stores, stores.key("identities", "localhost"), optional=True),
        }
    )
    with CassandraNode(tmp_path_factory.mktemp("node"), settings=settings) as node:
        yield node


@pytest.fixture(scope="module")
def operator(node: CassandraNode) -> Iterator[Session]:
    found = logged_in(node)
    yield found
    found.cluster.shutdown()


def test_client_certificate_logs_the_agent_in(
    node: CassandraNode, operator: Session, stores: Stores, tmp_path: Path
) -> None:
    own = stores.authority.signed("cdc-agent", uri=IDENTITY).pem(tmp_path / "agent.pem")
    for statement in documented("sql", "Certificates as logins (5.0)"):
        operator.execute(statement.rstrip(";"))
    found = connection(tmp_path, node, ca_path=stores.ca_pem, certificate_path=own)
    try:
        facts = found.facts()
        assert facts.cluster_name == "lab"
        assert found.rows("SELECT name, value FROM system_views.settings")
    finally:
        found.close()

    folder = tmp_path / "stranger"
    folder.mkdir()
    other = stores.authority.signed("other", uri="spiffe://example.org/other")
    stranger = connection(
        folder, node, ca_path=stores.ca_pem, certificate_path=other.pem(folder / "other.pem")
    )
    try:
        with pytest.raises(SidecarError) as raised:
            stranger.facts()
    finally:
        stranger.close()
    assert "rejects" in str(raised.value)


def test_login_outside_allowed_cidr_groups_is_rejected(
    node: CassandraNode, operator: Session, stores: Stores, tmp_path: Path
) -> None:
    """The agent connects from the address of its node."""
    operator.execute(f"CREATE ROLE limited WITH PASSWORD = '{SECRET}' AND LOGIN = true")
    for command in documented("sh", "Addresses (5.0)"):
        words = command.replace("10.0.0.0/16", "127.0.0.0/8").split()
        assert words[0] == "nodetool"
        nodetool(node, *(word.strip("'") for word in words[1:]))
    nodetool(node, "updatecidrgroup", "elsewhere", "203.0.113.0/24")
    (allow,) = documented("sql", "Addresses (5.0)")

    login = {"username": "limited", "password": SECRET}
    path = config(tmp_path, node, ca_path=stores.ca_pem).loaded.settings[0].origin.file
    assert path is not None
    sets = [f"cassandra.{name}={value}" for name, value in login.items()]
    sets += ["cassandra.ssl.enabled=false", f"cassandra.hosts={node.address.host}"]

    def answer() -> str:
        """Error message of the agent's connection; empty if the node accepts it."""
        link = node_connection(load_config([Path(path)], sets))
        try:
            link.facts()
        except SidecarError as error:
            return str(error)
        finally:
            link.close()
        return ""

    operator.execute("ALTER ROLE limited WITH ACCESS FROM CIDRS {'elsewhere'}")
    nodetool(node, "invalidatecidrpermissionscache")
    wait_until(lambda: "from this IP" in answer(), "the role to be rejected")
    assert "rejects user 'limited'" in answer()
    operator.execute(allow.rstrip(";").replace("ROLE cdc", "ROLE limited"))
    nodetool(node, "invalidatecidrpermissionscache")
    wait_until(lambda: not answer(), "the role to be accepted")
