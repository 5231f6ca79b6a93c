"""Least rights of the agent's role on a real node with an authorizer, as documented: each is
required, together they suffice, and nothing else is allowed. Also the new host id after an upgrade
to Cassandra 6.0."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cassandra import Unauthorized
from cassandra.cluster import Session

from agent.config.loader import AgentConfig, load_config
from agent.node.connection import node_connection
from agent.node.settings import running_settings
from agent.schema.node_schema import schema_rows
from agent.schema.write_options import read_write_options
from commitlog import Schema
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError
from tests.acceptance.agent.upgrade_harness import (
    DEADLINE_S,
    ROWS,
    TABLE,
    agent,
    assert_arrived,
    configuration,
    nodes_of_5_0_and_6_0,
    write,
)
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.minimal_configuration import minimal_configuration
from tests.support.node.cassandra_logins import LOGINS, logged_in
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cassandra_tools import nodetool
from tests.support.workloads.scenario import create_keyspace

pytestmark = pytest.mark.servers

PASSWORD = "s3cret-of-agent"
DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "security.md"


@pytest.fixture(scope="module", params=["6.0-alpha2", "5.0.9", "4.1.10"])
def node(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[CassandraNode]:
    settings = NodeSettings(yaml=LOGINS)
    directory = tmp_path_factory.mktemp("node")
    with CassandraNode(directory, version=request.param, settings=settings) as node:
        yield node


@pytest.fixture(scope="module")
def operator(node: CassandraNode) -> Iterator[Session]:
    found = logged_in(node)
    found.execute(create_keyspace("shop"))
    found.execute("CREATE TABLE shop.orders (id int PRIMARY KEY, v text) WITH cdc = true")
    found.execute("CREATE TABLE shop.cards (id int PRIMARY KEY, number text)")
    found.execute("INSERT INTO shop.orders (id, v) VALUES (1, 'a')")
    yield found
    found.cluster.shutdown()


def config(folder: Path, node: CassandraNode, password: str = PASSWORD) -> AgentConfig:
    properties = {
        "cassandra.hosts": node.address.host,
        "cassandra.port": node.address.cql_port,
        "cassandra.username": "cdc",
        "cassandra.password": password,
    }
    return load_config([minimal_configuration(folder, properties)])


def documented_statements() -> list[str]:
    """CQL statements of the page, without semicolons."""
    text = DOCUMENT.read_text().split("```sql\n", 1)[1].split("```", 1)[0]
    lines = [line for line in text.splitlines() if line and not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]


def test_documented_grants_allow_the_required_access_only(
    node: CassandraNode, operator: Session, tmp_path: Path
) -> None:
    create, *grants = documented_statements()
    assert create.startswith("CREATE ROLE")
    operator.execute(create.replace("…", PASSWORD))
    connection = node_connection(config(tmp_path, node))
    own = logged_in(node, "cdc", PASSWORD)
    try:
        # The schema, and DESCRIBE on 6.0, need only a login.
        facts = connection.facts()
        assert facts.cluster_name == "lab"
        assert "orders" in {
            table.name for table in Schema.from_system_rows(schema_rows(connection)).tables()
        }
        assert read_write_options(connection, facts).keyspaces["shop"]["durable_writes"] == "true"
        with pytest.raises(SidecarError):
            running_settings(connection, facts)
        with pytest.raises(Unauthorized):
            own.execute("SELECT * FROM shop.orders")
        for grant in grants:
            operator.execute(grant)
        settings = running_settings(connection, facts)
        assert settings is not None
        assert settings.cdc_total_bytes
        assert [row.id for row in own.execute("SELECT id FROM shop.orders")] == [1]
        for forbidden in (
            "SELECT * FROM shop.cards",
            "INSERT INTO shop.orders (id, v) VALUES (2, 'b')",
            "TRUNCATE shop.orders",
            "DROP TABLE shop.orders",
            "ALTER TABLE shop.orders WITH cdc = false",
            "CREATE ROLE other",
            "SELECT * FROM system_auth.roles",
        ):
            with pytest.raises(Unauthorized):
                own.execute(forbidden)
    finally:
        own.cluster.shutdown()
        connection.close()


def test_rejected_password_is_not_logged(
    node: CassandraNode, operator: Session, tmp_path: Path
) -> None:
    connection = node_connection(config(tmp_path, node, "wr0ng-p4ssword"))
    try:
        with pytest.raises((AccessDeniedError, UnavailableError)) as raised:
            connection.facts()
        assert "wr0ng-p4ssword" not in str(raised.value)
    finally:
        connection.close()


def test_new_host_id_is_unverified_without_metadata_log_right(
    tmp_path: Path, agent_dir: AgentDir
) -> None:
    """The agent delivers events, and reports the unverified host id until it has the right."""
    old, new = nodes_of_5_0_and_6_0(tmp_path / "node", "UPGRADING", LOGINS)
    path = configuration(agent_dir, old)
    with path.open("a") as properties:
        properties.write("cassandra.username=cdc\ncassandra.password=secret\n")
    with old:
        operator = logged_in(old)
        for statement in (*TABLE, "CREATE ROLE cdc WITH PASSWORD = 'secret' AND LOGIN = true"):
            operator.execute(statement)
        write(operator, 0)
        with agent(agent_dir, path) as process:
            assert_arrived(process, agent_dir, ROWS)
            operator.cluster.shutdown()
            old.stop()
            with new:
                operator = logged_in(new)
                nodetool(new, "cms", "initialize")
                write(operator, ROWS)

                def remedies() -> list[str]:
                    document = process.document("/health") or {"conditions": []}
                    unverified = "host_id_unverified"
                    return [
                        each["remedy"]
                        for each in document["conditions"]
                        if each["code"] == unverified
                    ]

                process.wait_until("the condition", lambda: bool(remedies()), DEADLINE_S)
                (grant,) = re.findall(r"GRANT [^;]*;", remedies()[0])
                assert grant == 'GRANT SELECT ON system.local_metadata_log TO "cdc";'
                operator.execute(grant)
                assert_arrived(process, agent_dir, 2 * ROWS)
                operator.cluster.shutdown()
                assert process.stop() == 0
