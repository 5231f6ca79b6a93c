"""Connection, schema and `agent check` with a node that requires a password."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.cdc_raw.quota import watch_quota
from agent.config.loader import load_config
from agent.node.connection import NodeAddress, NodeConnection, node_connection
from agent.schema.history import SchemaHistory
from agent.schema.node_schema import NodeSchema, schema_rows
from agent.snapshot.connection import PageConnection
from commitlog import Schema
from sidecar.check.broker import ask_broker
from sidecar.errors import AccessDeniedError, UnavailableError
from spark_jobs.compare.cassandra_pages import Contact, open_pages
from spark_jobs.errors import JobError
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_health import page
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread, running
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

ENDS = ("--set", "access.denied.action=exit")
REPLICATION = "replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    logins: dict[str, Any] = {
        "authenticator": "PasswordAuthenticator",
        "authorizer": "CassandraAuthorizer",
    }
    masking = {"dynamic_data_masking_enabled": True}
    settings = NodeSettings(commitlog_sync_period_ms=100, yaml=logins | masking)
    with CassandraNode(tmp_path_factory.mktemp("real-node") / "node", settings=settings) as node:
        yield node


def connection(node: CassandraNode, password: str = "cassandra") -> NodeConnection:
    host, port = node.address.host, node.address.cql_port
    return NodeConnection(NodeAddress([host], port, "cassandra", password))


@pytest.fixture
def link(node: CassandraNode) -> Iterator[NodeConnection]:
    """Working connection: the node creates its first user after the start."""
    with closing(connection(node)) as link:
        wait_until(lambda: answers(link), "the node to accept its first user")
        yield link


def answers(link: NodeConnection) -> bool:
    try:
        link.facts()
    except (AccessDeniedError, UnavailableError):
        return False
    return True


def reached_by(node: CassandraNode, user: str, password: str) -> Mapping[str, str | None]:
    """Properties with the node's address, without its files."""
    return {
        **dict.fromkeys(("schema.file", "node.id", "cluster.name")),
        "cdc.raw.directory": str(node.cdc_raw),
        "cassandra.hosts": node.address.host,
        "cassandra.port": str(node.address.cql_port),
        "cassandra.username": user,
        "cassandra.password": password,
    }


def configuration(node: CassandraNode, agent_dir: AgentDir, password: str = "cassandra") -> Path:
    login = {"cassandra.username": "cassandra", "cassandra.password": password}
    return agent_dir.beside(node, login)


def test_node_connection_reads_identity_and_schema(
    node: CassandraNode, link: NodeConnection, tmp_path: Path
) -> None:
    facts = link.facts()
    assert (facts.release_version, facts.cluster_name) == (node.version, "lab")
    assert len(facts.host_id) == 36
    for statement in (
        f"CREATE KEYSPACE shop WITH {REPLICATION}",
        "CREATE TYPE shop.price (amount decimal, currency text)",
        "CREATE TABLE shop.orders (id int, line int, price frozen<price>, tags set<text>, "
        "note text, PRIMARY KEY (id, line)) WITH CLUSTERING ORDER BY (line DESC) AND cdc = true",
        # DESCRIBE returns the microseconds of an explicit timestamp; system_schema does not.
        "ALTER TABLE shop.orders DROP note USING TIMESTAMP 1700000000000000",
    ):
        link.rows(statement)
    known = NodeSchema(link).fetch()
    assert known.identity.node_id == facts.host_id
    tables = {f"{table.keyspace}.{table.name}": table for table in known.schema.tables()}
    assert tables["shop.orders"].cdc
    assert not tables["system.local"].cdc
    SchemaHistory(tmp_path).save(known)
    assert SchemaHistory(tmp_path).load() == known
    described = list(link.rows("DESCRIBE KEYSPACE shop WITH INTERNALS"))
    assert described[-1]["name"] == "orders"
    text = "\n".join(str(row["create_statement"]) for row in described)
    # The node may create its own tables in the meantime.
    read = Schema.from_system_rows(schema_rows(link))
    assert read.merged(known.schema) == read.merged(Schema.from_cql(text)) == read


@pytest.mark.usefixtures("link")
def test_java_driver_file_configures_connection(node: CassandraNode, agent_dir: AgentDir) -> None:
    file = agent_dir.folder / "application.conf"
    file.write_text(
        f"""datastax-java-driver {{
          basic.contact-points = ["{node.address.host}:{node.address.cql_port}"]
          advanced.auth-provider {{
            class = PlainTextAuthProvider, username = cassandra, password = cassandra
          }}
        }}"""
    )
    path = agent_dir.configuration({"schema.file": None, "cassandra.driver.config.file": str(file)})
    with closing(node_connection(load_config([path]))) as link:
        assert link.facts().release_version == node.version


@pytest.mark.usefixtures("link")
def test_node_rejects_wrong_credentials(node: CassandraNode) -> None:
    for link, message in (
        (connection(node, "wrong"), "user 'cassandra'"),
        (
            NodeConnection(NodeAddress([node.address.host], node.address.cql_port)),
            "a client without credentials",
        ),
    ):
        with pytest.raises(AccessDeniedError, match=message):
            link.facts()


@pytest.mark.parametrize("has_schema", [False, True])
def test_wrong_credentials_end_the_agent_if_configured(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir, has_schema: bool
) -> None:
    """Also with a stored schema: an operator breaks the password in the file and restarts the
    agent."""
    if has_schema:
        SchemaHistory(agent_dir.offsets).save(NodeSchema(link).fetch())
    done = agent("--config", configuration(node, agent_dir, "wrong"), *ENDS)
    assert done.exit_code == 4
    assert "cassandra.password" in done.errors
    assert "Traceback" not in done.errors
    assert "wrong" not in done.errors


def test_check_reports_a_healthy_node(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir
) -> None:
    link.rows(f"CREATE KEYSPACE IF NOT EXISTS checked WITH {REPLICATION}")
    link.rows("CREATE TABLE IF NOT EXISTS checked.t (k int PRIMARY KEY) WITH cdc = true")
    done = agent("check", "--config", configuration(node, agent_dir))
    assert done.exit_code == 0, done.output
    assert "fault" not in done.output
    for part in (
        f"host id {link.facts().host_id}, cluster lab",
        "The node syncs its log every 100 ms",
        "Change data capture is on.",
        "Repair streams are captured",
        "checked.t",
    ):
        assert part in done.output


def test_check_fails_for_a_keyspace_without_durable_writes(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir
) -> None:
    link.rows(f"CREATE KEYSPACE volatile WITH durable_writes = false AND {REPLICATION}")
    link.rows("CREATE TABLE volatile.t (k int PRIMARY KEY) WITH cdc = true")
    try:
        known = NodeSchema(link).fetch().write_options
        assert known is not None
        assert known.keyspaces["volatile"] == {"durable_writes": "false"}
        done = agent("check", "--config", configuration(node, agent_dir))
        assert done.exit_code == 1
        assert "volatile.t (durable_writes = false)" in done.output
        (alter,) = re.findall(r"ALTER [^;]*;", done.output)
        assert alter == "ALTER KEYSPACE volatile WITH durable_writes = true;"
        link.rows(alter)
        done = agent("check", "--config", configuration(node, agent_dir))
        assert done.exit_code == 0
        assert "durable_writes" not in done.output
    finally:
        link.rows("DROP KEYSPACE volatile")


def test_running_agent_reports_its_node_everywhere(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir
) -> None:
    host_id = link.facts().host_id
    place = {"cluster": "lab", "node_id": host_id, "datacenter": "datacenter1", "rack": "rack1"}
    log = agent_dir.folder / "agent.log"
    path = configuration(node, agent_dir)
    with AgentThread(["--config", str(path), "--set", "log.format=json"], log, 0) as process:

        def is_known() -> bool:
            health = process.document("/health") or {}
            return bool(place.items() <= health.get("instance", {}).items())

        process.wait_until("the identity of the node", is_known)
        assert place.items() <= json.loads(page(process, "buildinfo")).items()
        (series,) = re.findall("^cdc_build_info{.*", page(process, "metrics"), re.M)
        for name, value in place.items():
            assert f'{name}="{value}"' in series
        assert process.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    (delivering,) = (line for line in lines if line["message"] == "delivering")
    assert place.items() <= delivering.items()
    assert delivering["host"]
    assert delivering["topic_prefix"]


def test_grant_printed_by_health_resolves_the_condition(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(watch_quota.__kwdefaults__ or {}, "interval_s", 0.1)
    link.rows("CREATE ROLE IF NOT EXISTS cdc WITH PASSWORD = 'secret' AND LOGIN = true")
    log = agent_dir.folder / "agent.log"
    with running(agent_dir, reached_by(node, "cdc", "secret")) as process:

        def quota_condition() -> list[str]:
            """Remedy of the condition, while it exists."""
            document = process.document("/health") or {"conditions": []}
            conditions = document["conditions"]
            return [c["remedy"] for c in conditions if c["code"] == "cdc_raw_quota_unknown"]

        process.wait_until("the condition", lambda: bool(quota_condition()))
        appeared = "code=cdc_raw_quota_unknown"
        process.wait_until("the logged condition", lambda: appeared in log.read_text())
        (remedy,) = quota_condition()
        (grant,) = re.findall(r"GRANT [^;]*;", remedy)
        assert grant == 'GRANT SELECT ON system_views.settings TO "cdc";'
        link.rows(grant)
        process.wait_until("its end", lambda: not quota_condition())
        limit_bytes = re.search(r"^cdc_raw_limit_bytes (\S+)$", page(process, "metrics"), re.M)
        assert limit_bytes is not None
        assert float(limit_bytes[1]) == node.settings.cdc_total_mib << 20
        resolved = "condition resolved: cdc_raw_quota_unknown"
        process.wait_until("the line", lambda: resolved in log.read_text())
        assert process.stop() == 0


def test_check_reports_local_faults_before_server_faults(
    node: CassandraNode, agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No broker answers at the closed port, regardless of the timeout.
    monkeypatch.setattr(ask_broker, "__defaults__", (0.1,))
    overrides = (
        "sink=kafka",
        "kafka.producer.bootstrap.servers=127.0.0.1:1",
        f"offset.backing.store.dir={agent_dir.folder / 'none'}",
    )
    changes = [word for override in overrides for word in ("--set", override)]
    done = agent("check", "--config", configuration(node, agent_dir, "wrong"), *changes)
    assert done.exit_code == 1
    faults = [line.split()[1] for line in done.output.splitlines() if line.startswith("fault")]
    # Findings of this machine come first, then those of the servers in any order.
    assert (faults[0], sorted(faults[1:])) == ("directories:", ["broker:", "node:"])


def test_grants_printed_by_check_resolve_its_findings(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir
) -> None:
    """Each missing right has a statement with the role's name."""
    for statement in (
        "CREATE ROLE IF NOT EXISTS \"Checker\" WITH PASSWORD = 'secret' AND LOGIN = true",
        f"CREATE KEYSPACE IF NOT EXISTS rights WITH {REPLICATION}",
        "CREATE TABLE IF NOT EXISTS rights.plain (k int PRIMARY KEY) WITH cdc = true",
        f'CREATE KEYSPACE IF NOT EXISTS "Rights" WITH {REPLICATION}',
        'CREATE TABLE IF NOT EXISTS "Rights"."A" (k int PRIMARY KEY) WITH cdc = true',
        'CREATE TABLE IF NOT EXISTS "Rights"."B" (k int PRIMARY KEY) WITH cdc = true',
    ):
        link.rows(statement)
    lists = {"snapshot.mode": "initial", "table.include.list": "rights.*,Rights.*"}
    path = agent_dir.configuration({**reached_by(node, "Checker", "secret"), **lists})

    def findings() -> dict[str, dict[str, str]]:
        done = agent("check", "--json", "--config", path)
        return {each["code"]: each for each in json.loads(done.output)["findings"]}

    before = findings()
    denied, unread = before["snapshot_rights_missing"], before["cdc_raw_quota_unknown"]
    assert (denied["level"], unread["level"]) == ("warning", "warning")
    assert "3 of 3 published tables" in denied["message"]
    grants = re.findall(r"GRANT [^;]*;", denied["remedy"] + unread["remedy"])
    assert grants == [
        'GRANT SELECT ON KEYSPACE "Rights" TO "Checker";',
        'GRANT SELECT ON rights.plain TO "Checker";',
        'GRANT SELECT ON system_views.settings TO "Checker";',
    ]
    for statement in grants:
        link.rows(statement)
    # The node caches rights for some seconds.
    missing = {"snapshot_rights_missing", "cdc_raw_quota_unknown"}
    wait_until(lambda: missing.isdisjoint(findings()), "the rights")
    granted = findings()
    assert "can read the 3 published tables" in granted["rights_ok"]["message"]
    assert granted["cdc_enabled_ok"]["level"] == "ok"


def test_masked_values_are_neither_copied_nor_compared(
    node: CassandraNode, link: NodeConnection, agent_dir: AgentDir
) -> None:
    """The statement in the messages resolves the rejection for snapshots and for Spark."""
    for statement in (
        "CREATE ROLE IF NOT EXISTS masked WITH PASSWORD = 'secret' AND LOGIN = true",
        f"CREATE KEYSPACE IF NOT EXISTS masks WITH {REPLICATION}",
        'CREATE TABLE IF NOT EXISTS masks."P" (id int PRIMARY KEY, name text MASKED WITH '
        "mask_inner(1, null), age int MASKED WITH DEFAULT) WITH cdc = true",
        "INSERT INTO masks.\"P\" (id, name, age) VALUES (1, 'Alice', 42)",
        "GRANT SELECT ON KEYSPACE masks TO masked",
        "GRANT SELECT ON system_views.settings TO masked",
    ):
        link.rows(statement)
    lists = {"snapshot.mode": "initial", "table.include.list": "masks.*"}
    path = agent_dir.configuration({**reached_by(node, "masked", "secret"), **lists})
    contact = Contact(
        (node.address.host,), node.address.cql_port, username="masked", password="secret"
    )
    select = 'SELECT name, age FROM masks."P"'

    def rights() -> list[dict[str, str]]:
        found = json.loads(agent("check", "--json", "--config", path).output)["findings"]
        return [each for each in found if each["subject"] == "rights"]

    address = node_connection(load_config([path])).address
    with closing(PageConnection(address, lambda *_: True)) as pages, open_pages(contact) as own:
        wait_until(lambda: rights()[0]["code"] == "snapshot_columns_masked", "the finding")
        grant = 'GRANT UNMASK ON masks."P" TO "masked";'
        assert grant in rights()[0]["remedy"]
        assert grant in pages.masks.before("masks.P")
        with pytest.raises(JobError, match=re.escape(grant)):
            list(own.read("masks.P", select, "ONE", 10))
        link.rows(grant)
        assert pages.masks.before("masks.P") == ""
        body = pages.ask(select, "ONE", 10, None).result().body
        assert pages.masks.after("masks.P") == ""
        assert b"Alice" in body
        assert body in [page.body for page in own.read("masks.P", select, "ONE", 10)]
        assert [each["code"] for each in rights()] == ["rights_ok"]


def test_connection_recovers_after_node_restart(node: CassandraNode, link: NodeConnection) -> None:
    before = link.facts()
    node.stop()
    with pytest.raises(UnavailableError, match="does not answer"):
        link.facts()
    node.start()
    wait_until(lambda: answers(link), "the node to answer again")
    assert link.facts() == before
