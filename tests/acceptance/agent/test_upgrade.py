"""Upgrade of a node while the agent runs."""

from pathlib import Path

import pytest

from spark_jobs.reconcile.source_table import read_schema
from tests.acceptance.agent.upgrade_harness import (
    DEADLINE_S,
    ROWS,
    SETTINGS,
    TABLE,
    agent,
    arrived,
    assert_arrived,
    configuration,
    events,
    follows,
    host_id,
    nodes_of_5_0_and_6_0,
    write,
)
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent as command
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_tools import nodetool

pytestmark = [pytest.mark.servers, pytest.mark.slow]

AGAIN = "CREATE TABLE shop.again (id int PRIMARY KEY) WITH cdc = true"
RECREATED = ("DROP TABLE shop.again", AGAIN)


def test_agent_survives_upgrade_from_3_11_to_4_1(tmp_path: Path, agent_dir: AgentDir) -> None:
    """The old node leaves its last segment without an index file; the new node writes another
    version into the same directory."""
    old = CassandraNode(tmp_path / "node", version="3.11.19", settings=SETTINGS)
    new = CassandraNode(tmp_path / "node", version="4.1.10", settings=SETTINGS, address=old.address)
    with old:
        for statement in TABLE:
            old.execute(statement)
        with agent(agent_dir, configuration(agent_dir, old)) as process:
            process.wait_until("the first look", lambda: follows(process), DEADLINE_S)
            write(old, 0)
            old.stop()
            process.wait_until(
                "the old node's events", lambda: len(arrived(agent_dir)) == ROWS, DEADLINE_S
            )
            with new:
                write(new, ROWS)
                write(new, 2 * ROWS)
                process.wait_until(
                    "the new node's events", lambda: len(arrived(agent_dir)) == 3 * ROWS, DEADLINE_S
                )
            health = process.health()
            assert health is not None
            assert "the quarantine is empty" in health.messages["quarantine"]
            assert process.stop() == 0
    assert arrived(agent_dir) == [
        *(("CommitLog-6", number) for number in range(ROWS)),
        *(("CommitLog-7", number) for number in range(ROWS, 3 * ROWS)),
    ]


def test_agent_keeps_node_id_across_upgrade_to_6_0(tmp_path: Path, agent_dir: AgentDir) -> None:
    """`nodetool cms initialize` gives the node a new host id. The agent keeps the former id, also
    after a restart."""
    old, new = nodes_of_5_0_and_6_0(tmp_path / "node", "NONE")
    with old:
        for statement in (*TABLE, AGAIN):
            old.execute(statement)
        former = host_id(old)
        path = configuration(agent_dir, old)
        with agent(agent_dir, path) as process:
            process.wait_until("the first look", lambda: follows(process), DEADLINE_S)
            write(old, 0)
            old.stop()
            with new:
                write(new, ROWS)
                nodetool(new, "cms", "initialize")
                write(new, 2 * ROWS)
                assert host_id(new) != former
                assert_arrived(process, agent_dir, 3 * ROWS)
                for statement in RECREATED:
                    new.execute(statement)
                new.execute("ALTER TABLE shop.orders ADD v text")
                write(new, 3 * ROWS, "added")
                assert_arrived(process, agent_dir, 4 * ROWS)
                assert process.stop() == 0
                with agent(agent_dir, path) as restarted:
                    assert_arrived(restarted, agent_dir, 4 * ROWS)
                    assert command("check", "--config", path).exit_code == 0
                    write(new, 4 * ROWS, "again")
                    assert_arrived(restarted, agent_dir, 5 * ROWS)
                    assert restarted.stop() == 0
                query = "SELECT id FROM system_schema.tables WHERE keyspace_name = 'shop'"
                ids = {str(row.id) for row in new.execute(query)}
    # Jobs use the new table instead of the dropped one.
    schema = read_schema(agent_dir.offsets / "schema_history.json.gz")
    assert {schema.table(name).id for name in ("shop.orders", "shop.again")} == ids
    assert len([table for table in schema.tables if table.keyspace == "shop"]) == 3
    found = events(agent_dir)
    assert {event["headers"]["cdc.source"].split("/")[0] for event in found} == {former}
    assert len({event["headers"]["cdc.id"] for event in found}) == 5 * ROWS
    versions = [version for version, _ in arrived(agent_dir)]
    assert versions == ["CommitLog-8"] * ROWS + ["CommitLog-9"] * 4 * ROWS
    values = [event["value"]["after"].get("v", {}).get("value") for event in found]
    assert values == [None] * 3 * ROWS + ["added"] * ROWS + ["again"] * ROWS
