"""Writes that the commit log lacks, on real nodes: transactions of 6.0 and `durable_writes =
false`.

`agent check` and the running agent report each table with its reason until an ALTER resolves it or
the configuration excludes the table. The events prove that these writes are missing.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_health import health, page
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

pytestmark = [pytest.mark.servers, pytest.mark.slow]

BYPASS = "writes_bypass_commitlog"
TABLES = {
    "shop.plain": "",
    "shop.fully": "transactional_mode = 'full'",
    "shop.mixed": "transactional_mode = 'mixed_reads'",
    "shop.late": "",
    "volatile.t": "",
}
UNLOGGED = {
    "shop.fully": ("transactional_mode", "transactional_mode = 'full'"),
    "shop.mixed": ("transactional_mode", "transactional_mode = 'mixed_reads'"),
    "volatile.t": ("durable_writes", "durable_writes = false"),
}
REPLICATION = "replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    settings = NodeSettings(
        commitlog_sync_period_ms=100,
        storage_compatibility_mode="NONE",
        yaml={"accord": {"enabled": True}},
        heap_mib=768,
    )
    directory = tmp_path_factory.mktemp("unlogged") / "node"
    with CassandraNode(directory, version="6.0-alpha2", settings=settings) as node:
        node.execute(f"CREATE KEYSPACE shop WITH {REPLICATION}")
        node.execute(f"CREATE KEYSPACE volatile WITH {REPLICATION} AND durable_writes = false")
        for name, option in TABLES.items():
            options = " AND ".join(filter(None, ("cdc = true", option)))
            node.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, v text) WITH {options}")
        yield node


def write(node: CassandraNode, key: int, *tables: str) -> None:
    """One row of each table, in a batch if there are several, at a level that Accord accepts."""
    inserts = [f"INSERT INTO {table} (id, v) VALUES ({key}, 'v{key}');" for table in tables]
    text = " ".join(inserts if len(tables) == 1 else ["BEGIN BATCH", *inserts, "APPLY BATCH"])
    node.session().execute(SimpleStatement(text, consistency_level=ConsistencyLevel.ONE))


def rows(node: CassandraNode, table: str) -> set[int]:
    query = SimpleStatement(f"SELECT id FROM {table}", consistency_level=ConsistencyLevel.ONE)
    return {row.id for row in node.session().execute(query)}


def configuration(
    agent_dir: AgentDir, node: CassandraNode, changes: Mapping[str, str] | None = None
) -> Path:
    own = {"commit.log.transfer.class": "archive", "schema.refresh.interval.ms": "500"}
    return agent_dir.beside(node, {**own, **(changes or {})})


def checked(path: Path) -> tuple[int, list[Any]]:
    done = agent("check", "--json", "--config", path)
    findings = json.loads(done.output)["findings"]
    return done.exit_code, [each for each in findings if each["subject"] == "unlogged writes"]


def codes(process: AgentThread) -> list[str]:
    return [each["code"] for each in health(process)[1]["conditions"]]


def events(agent_dir: AgentDir) -> set[tuple[str, int]]:
    """Table and key of each event so far."""
    if not agent_dir.events.exists():
        return set()
    found = set()
    for line in agent_dir.events.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            value = json.loads(line)["value"]
            source = value["source"]
            found.add((f"{source['keyspace']}.{source['table']}", value["after"]["id"]["value"]))
    return found


def test_check_reports_unlogged_tables_with_their_reasons(
    node: CassandraNode, agent_dir: AgentDir
) -> None:
    exit_code, (finding,) = checked(configuration(agent_dir, node))
    assert (exit_code, finding["code"], finding["level"]) == (1, BYPASS, "fault")
    for table, (_, option) in UNLOGGED.items():
        assert f"{table} ({option})" in finding["message"]
    assert "shop.plain" not in finding["message"]
    assert "ALTER TABLE shop.fully WITH transactional_mode = 'off';" in finding["remedy"]
    assert "ALTER KEYSPACE volatile WITH durable_writes = true;" in finding["remedy"]
    _, (finding,) = checked(
        configuration(agent_dir, node, {"table.exclude.list": r"shop\.(fully|mixed),volatile\.t"})
    )
    assert finding["level"] == "ok"


def test_snapshot_copies_unlogged_rows(node: CassandraNode, agent_dir: AgentDir) -> None:
    tables = ("shop.fully", "shop.mixed", "volatile.t")
    for table in tables:
        write(node, 0, table)
    changes = {"snapshot.mode": "initial", "table.include.list": ",".join(tables)}
    path = configuration(agent_dir, node, changes)
    expected = {(table, 0) for table in tables}
    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
        process.wait_until("the rows", lambda: events(agent_dir) == expected)
        assert process.stop() == 0


def test_run_is_degraded_until_writes_are_logged(node: CassandraNode, agent_dir: AgentDir) -> None:
    path = configuration(agent_dir, node)
    with AgentThread(["--config", str(path)], agent_dir.folder / "agent.log", 0) as process:
        process.wait_until("the condition", lambda: codes(process) == [BYPASS])
        assert health(process)[1]["status"] == "degraded"
        text = page(process, "metrics")
        assert "cdc_unlogged_tables 3.0" in text
        for table, (reason, _) in UNLOGGED.items():
            keyspace, _, name = table.partition(".")
            labels = f'keyspace="{keyspace}",reason="{reason}",table="{name}"'
            assert f"cdc_table_unlogged{{{labels}}} 1.0" in text
        shown = process.document("/page.json")
        assert BYPASS in [each["code"] for each in shown["conditions"]]

        for table in TABLES:
            write(node, 1, table)
        write(node, 2, "shop.plain", "shop.fully")
        # The node logs writes of the same table before and after its transactional mode.
        process.wait_until("logged writes", lambda: ("shop.late", 1) in events(agent_dir))
        node.execute("ALTER TABLE shop.late WITH transactional_mode = 'full'")
        process.wait_until(
            "the fourth table", lambda: "cdc_unlogged_tables 4.0" in page(process, "metrics")
        )
        write(node, 2, "shop.late")
        node.execute("ALTER TABLE shop.late WITH transactional_mode = 'off'")
        process.wait_until(
            "the migration",
            lambda: 'reason="transactional_migration",table="late"' in page(process, "metrics"),
        )
        write(node, 3, "shop.late")
        # With a replication factor of 1, the repair that completes a migration does nothing.
        for table in ("late", "fully", "mixed"):
            node.execute(
                f"ALTER TABLE shop.{table} WITH transactional_mode = 'off' "
                "AND transactional_migration_from = 'none'"
            )
        node.execute("ALTER KEYSPACE volatile WITH durable_writes = true")
        process.wait_until("recovery", lambda: health(process)[0] == 200)
        text = page(process, "metrics")
        assert "cdc_unlogged_tables 0.0" in text
        assert "cdc_table_unlogged{" not in text
        logged = {(table, 9) for table in TABLES}
        for table, key in logged:
            write(node, key, table)
        process.wait_until("all later events", lambda: logged <= events(agent_dir))
        assert process.stop() == 0
    assert events(agent_dir) == {("shop.plain", 1), ("shop.plain", 2), ("shop.late", 1), *logged}
    # The node has the rows without events.
    assert rows(node, "shop.fully") == {0, 1, 2, 9}
    assert rows(node, "shop.mixed") == rows(node, "volatile.t") == {0, 1, 9}
    assert rows(node, "shop.late") == {1, 2, 3, 9}
