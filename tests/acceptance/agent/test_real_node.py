"""The connection, the schema and `agent check` against a node that asks for a password."""

import json
import math
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from agent.config.loader import load_config
from agent.node.connect import node_connection
from agent.node.connection import Credentials, NodeAddress, NodeConnection
from agent.schema.history import SchemaHistory
from agent.schema.node_schema import NodeSchema, schema_rows
from commitlog import Schema
from sidecar.errors import AccessDeniedError, UnavailableError
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

pytestmark = pytest.mark.servers

DEADLINE_S = 300.0
ENDS = ("--set", "access.denied.action=exit")
Answer = TypeVar("Answer")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    logins = {"authenticator": "PasswordAuthenticator", "authorizer": "CassandraAuthorizer"}
    settings = NodeSettings(commitlog_sync_period_ms=100, yaml=logins)
    with CassandraNode(tmp_path_factory.mktemp("real-node") / "node", settings=settings) as node:
        yield node


def connection(node: CassandraNode, password: str = "cassandra") -> NodeConnection:
    credentials = Credentials("cassandra", password)
    return NodeConnection(NodeAddress([node.address.host], node.address.cql_port, credentials))


def eventually(ask: Callable[[], Answer], *passing: type[Exception]) -> Answer:
    """The first answer that is none of these errors; the first user comes after the start."""
    end_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            return ask()
        except passing:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.2)


def configuration(node: CassandraNode, agent_dir: AgentDir, password: str = "cassandra") -> Path:
    return agent_dir.configuration(
        {
            "schema.file": None,
            "node.id": None,
            "cluster.name": None,
            "cdc.raw.directory": None,
            "cassandra.config": str(node.yaml),
            "cassandra.username": "cassandra",
            "cassandra.password": password,
        }
    )


def test_node_reports_its_identity_and_tables(node: CassandraNode, tmp_path: Path) -> None:
    link = connection(node)
    try:
        facts = eventually(link.facts, AccessDeniedError, UnavailableError)
        assert facts.release_version == node.version
        assert facts.cluster_name == "lab"
        assert len(facts.host_id) == 36
        link.rows(
            "CREATE KEYSPACE shop WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        link.rows("CREATE TYPE shop.price (amount decimal, currency text)")
        link.rows(
            "CREATE TABLE shop.orders (id int, line int, price frozen<price>, tags set<text>, "
            "note text, PRIMARY KEY (id, line)) WITH CLUSTERING ORDER BY (line DESC) AND cdc = true"
        )
        # A time of its own can have microseconds, which DESCRIBE tells and system_schema does not.
        link.rows("ALTER TABLE shop.orders DROP note USING TIMESTAMP 1700000000000000")
        known = NodeSchema(link).fetch()
        assert known.identity.node_id == facts.host_id
        tables = {f"{table.keyspace}.{table.name}": table for table in known.schema.tables()}
        assert tables["shop.orders"].cdc
        assert not tables["system.local"].cdc
        SchemaHistory(tmp_path).save(known)
        assert SchemaHistory(tmp_path).load() == known
        (described,) = link.rows("DESCRIBE KEYSPACE shop WITH INTERNALS")[-1:]
        assert described["name"] == "orders"
        text = "\n".join(
            str(row["create_statement"])
            for row in link.rows("DESCRIBE KEYSPACE shop WITH INTERNALS")
        )
        # The node may make tables of its own in the meantime.
        read = Schema.from_system_rows(schema_rows(link))
        assert read.merged(known.schema) == read
        assert read.merged(Schema.from_cql(text)) == read
    finally:
        link.close()


def test_the_java_drivers_file_is_enough_to_reach_it(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
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
    link = node_connection(load_config([path]))
    try:
        facts = eventually(link.facts, AccessDeniedError, UnavailableError)
        assert facts.release_version == node.version
    finally:
        link.close()


def test_wrong_credentials_end_with_exit_code_4_where_that_is_wanted(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    link = connection(node)
    eventually(link.facts, AccessDeniedError, UnavailableError)
    link.close()
    with pytest.raises(AccessDeniedError, match="user 'cassandra'"):
        connection(node, "wrong").facts()
    with pytest.raises(AccessDeniedError, match="a client without credentials"):
        NodeConnection(NodeAddress([node.address.host], node.address.cql_port)).facts()
    done = agent("--config", configuration(node, agent_dir, "wrong"), *ENDS)
    assert done.exit_code == 4
    assert "cassandra.password" in done.errors
    assert "Traceback" not in done.errors
    assert "wrong" not in done.errors


def test_a_kept_schema_does_not_hide_wrong_credentials(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    """An operator changes the password in the file by mistake and restarts the agent, which has
    the schema of its last run."""
    link = connection(node)
    known = eventually(NodeSchema(link).fetch, AccessDeniedError, UnavailableError)
    SchemaHistory(agent_dir.offsets).save(known)
    link.close()
    done = agent("--config", configuration(node, agent_dir, "wrong"), *ENDS)
    assert done.exit_code == 4
    assert "cassandra.password" in done.errors
    assert "Traceback" not in done.errors


def test_check_reports_a_healthy_node(node: CassandraNode, agent_dir: AgentDir) -> None:
    link = connection(node)
    eventually(link.facts, AccessDeniedError, UnavailableError)
    link.rows(
        "CREATE KEYSPACE IF NOT EXISTS checked WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    link.rows("CREATE TABLE IF NOT EXISTS checked.t (k int PRIMARY KEY) WITH cdc = true")
    host_id = link.facts().host_id
    link.close()
    done = agent("check", "--config", configuration(node, agent_dir))
    assert done.exit_code == 0, done.output
    assert "fault" not in done.output
    assert f"host id {host_id}, cluster lab" in done.output
    assert "The node syncs its log every 100 ms" in done.output
    assert "Change data capture is on." in done.output
    assert "Repair streams are captured" in done.output
    assert "checked.t" in done.output


def test_check_fails_for_a_keyspace_without_durable_writes(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    link = connection(node)
    eventually(link.facts, AccessDeniedError, UnavailableError)
    link.rows(
        "CREATE KEYSPACE volatile WITH durable_writes = false AND replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    link.rows("CREATE TABLE volatile.t (k int PRIMARY KEY) WITH cdc = true")
    try:
        known = NodeSchema(link).fetch().write_options
        assert known is not None
        assert known.keyspaces["volatile"] == {"durable_writes": "false"}
        done = agent("check", "--config", configuration(node, agent_dir))
        assert done.exit_code == 1
        assert "volatile.t (durable_writes = false)" in done.output
        assert "ALTER KEYSPACE volatile WITH durable_writes = true;" in done.output
    finally:
        link.rows("DROP KEYSPACE volatile")
        link.close()


def test_quota_is_read_from_the_node_without_cassandra_config(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    link = connection(node)
    eventually(link.facts, AccessDeniedError, UnavailableError)
    link.close()
    path = agent_dir.configuration(
        {
            "schema.file": None,
            "node.id": None,
            "cluster.name": None,
            "cdc.raw.directory": str(node.cdc_raw),
            "cassandra.hosts": node.address.host,
            "cassandra.port": str(node.address.cql_port),
            "cassandra.username": "cassandra",
            "cassandra.password": "cassandra",
        }
    )
    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:

        def limit_bytes() -> float:
            with urllib.request.urlopen(f"{process.url}/metrics") as answer:
                lines = answer.read().decode().splitlines()
            (limit,) = (
                line.split()[1] for line in lines if line.startswith("cdc_raw_limit_bytes ")
            )
            return float(limit)

        process.wait_until(
            "the node's answer",
            lambda: process.health() is not None and not math.isnan(limit_bytes()),
            DEADLINE_S,
        )
        assert limit_bytes() == node.settings.cdc_total_mib << 20
        assert process.stop() == 0


def test_a_running_agent_names_its_node_everywhere(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    link = connection(node)
    facts = eventually(link.facts, AccessDeniedError, UnavailableError)
    link.close()
    path = configuration(node, agent_dir)
    log = agent_dir.folder / "agent.log"
    place = {
        "cluster": "lab",
        "node_id": facts.host_id,
        "datacenter": "datacenter1",
        "rack": "rack1",
    }
    arguments = ["--config", str(path), "--set", "log.format=json"]
    with AgentThread(arguments, log, 0) as process:

        def answer(page: str) -> str:
            with urllib.request.urlopen(f"{process.url}/{page}") as reply:
                return str(reply.read().decode())

        def is_known() -> bool:
            health = process.document("/health") or {}
            return bool(place.items() <= health.get("instance", {}).items())

        process.wait_until("the identity of the node", is_known, DEADLINE_S)
        assert place.items() <= json.loads(answer("buildinfo")).items()
        (series,) = (
            line for line in answer("metrics").splitlines() if line.startswith("cdc_build_info{")
        )
        for name, value in place.items():
            assert f'{name}="{value}"' in series
        assert process.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert all(line["host"] and line["topic_prefix"] for line in lines)
    (delivering,) = (line for line in lines if line["message"] == "delivering")
    assert place.items() <= delivering.items()


def test_the_grant_that_health_prints_resolves_the_condition(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    link = connection(node)
    eventually(link.facts, AccessDeniedError, UnavailableError)
    link.rows("CREATE ROLE IF NOT EXISTS cdc WITH PASSWORD = 'secret' AND LOGIN = true")
    path = agent_dir.configuration(
        {
            "schema.file": None,
            "node.id": None,
            "cluster.name": None,
            "cdc.raw.directory": str(node.cdc_raw),
            "cassandra.hosts": node.address.host,
            "cassandra.port": str(node.address.cql_port),
            "cassandra.username": "cdc",
            "cassandra.password": "secret",
        }
    )
    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:

        def quota_condition() -> list[str]:
            """Its remedy, while it exists."""
            document = process.document("/health") or {"conditions": []}
            conditions = document["conditions"]
            return [c["remedy"] for c in conditions if c["code"] == "cdc_raw_quota_unknown"]

        process.wait_until("the condition", lambda: bool(quota_condition()), DEADLINE_S)
        (remedy,) = quota_condition()
        (grant,) = re.findall(r"GRANT [^;]*;", remedy)
        assert grant == 'GRANT SELECT ON system_views.settings TO "cdc";'
        link.rows(grant)
        process.wait_until("its end", lambda: not quota_condition(), DEADLINE_S)
        log = agent_dir.folder / "agent.log"
        resolved = "condition resolved: cdc_raw_quota_unknown"
        process.wait_until("the line", lambda: resolved in log.read_text(), DEADLINE_S)
        assert process.stop() == 0
    link.close()


def test_check_names_every_fault_with_its_remedy(node: CassandraNode, agent_dir: AgentDir) -> None:
    path = configuration(node, agent_dir, "wrong")
    done = agent(
        "check",
        "--config",
        path,
        "--set",
        "sink=kafka",
        "--set",
        "kafka.producer.bootstrap.servers=127.0.0.1:1",
        "--set",
        f"offset.backing.store.dir={agent_dir.folder / 'none'}",
    )
    assert done.exit_code == 1
    faults = [line for line in done.output.splitlines() if line.startswith("fault")]
    # What is found on this machine comes first, then what the servers answer, as they do.
    assert [line.split()[1] for line in faults][:1] == ["directories:"]
    assert sorted(line.split()[1] for line in faults[1:]) == ["broker:", "node:"]


def test_the_grants_that_check_prints_resolve_its_findings(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    """Each right that is missing has its statement, with the name of the role."""
    link = connection(node)
    eventually(link.facts, AccessDeniedError, UnavailableError)
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    for statement in (
        "CREATE ROLE IF NOT EXISTS \"Checker\" WITH PASSWORD = 'secret' AND LOGIN = true",
        f"CREATE KEYSPACE IF NOT EXISTS rights WITH replication = {replication}",
        "CREATE TABLE IF NOT EXISTS rights.plain (k int PRIMARY KEY) WITH cdc = true",
        f'CREATE KEYSPACE IF NOT EXISTS "Rights" WITH replication = {replication}',
        'CREATE TABLE IF NOT EXISTS "Rights"."A" (k int PRIMARY KEY) WITH cdc = true',
        'CREATE TABLE IF NOT EXISTS "Rights"."B" (k int PRIMARY KEY) WITH cdc = true',
    ):
        link.rows(statement)
    path = agent_dir.configuration(
        {
            "schema.file": None,
            "node.id": None,
            "cluster.name": None,
            "snapshot.mode": "initial",
            "table.include.list": "rights.*,Rights.*",
            "cdc.raw.directory": str(node.cdc_raw),
            "cassandra.hosts": node.address.host,
            "cassandra.port": str(node.address.cql_port),
            "cassandra.username": "Checker",
            "cassandra.password": "secret",
        }
    )

    def findings() -> dict[str, dict[str, str]]:
        done = agent("check", "--json", "--config", path)
        return {each["code"]: each for each in json.loads(done.output)["findings"]}

    before = findings()
    denied, unread = before["snapshot_rights_missing"], before["settings_not_readable"]
    assert (denied["level"], unread["level"]) == ("warning", "fault")
    assert "3 of 3 published tables" in denied["message"]
    grants = re.findall(r"GRANT [^;]*;", denied["remedy"] + unread["remedy"])
    assert grants == [
        'GRANT SELECT ON KEYSPACE "Rights" TO "Checker";',
        'GRANT SELECT ON rights.plain TO "Checker";',
        'GRANT SELECT ON system_views.settings TO "Checker";',
    ]
    for statement in grants:
        link.rows(statement)
    link.close()

    def after() -> dict[str, dict[str, str]]:
        """The node keeps rights in a cache for some seconds."""
        found = findings()
        if not {"snapshot_rights_missing", "settings_not_readable"}.isdisjoint(found):
            raise UnavailableError("The rights are not there yet.")
        return found

    granted = eventually(after, UnavailableError)
    assert "can read the 3 published tables" in granted["rights_ok"]["message"]
    assert granted["cdc_enabled_ok"]["level"] == "ok"


def test_node_is_queried_again_when_it_returns(node: CassandraNode) -> None:
    link = connection(node)
    try:
        before = eventually(link.facts, AccessDeniedError, UnavailableError)
        node.stop()
        with pytest.raises(UnavailableError, match="does not answer"):
            link.facts()
        node.start()
        assert eventually(link.facts, AccessDeniedError, UnavailableError) == before
    finally:
        link.close()
