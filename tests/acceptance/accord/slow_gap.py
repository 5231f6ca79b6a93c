"""Journal segments that the node deletes while the agent is stopped are reported as a gap."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.accord.node_agent import (
    VERSION,
    accord_settings,
    agent_of,
    execute,
    wait_for_row,
)
from tests.acceptance.accord.workload import last_write, schema
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.processes import wait_until

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1200)]

SEGMENT_BYTES = 1 << 20
NOTE = "n" * 20_000


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CassandraNode]:
    settings = accord_settings(segment_size=SEGMENT_BYTES, compaction_period="1000ms")
    with CassandraNode(tmp_path / "node", version=VERSION, settings=settings) as node:
        for statement in schema(replicas=1):
            node.execute(statement)
        yield node


def journal(node: CassandraNode) -> set[str]:
    return {path.name for path in (node.directory / "accord_journal").glob("log-*.data")}


def fill(node: CassandraNode, key: int) -> None:
    """Write until the node has deleted every current segment of the journal."""
    before = journal(node)

    def is_deleted() -> bool:
        execute(node, f"UPDATE bank.accounts SET note = '{NOTE}' WHERE id = {key}")
        return not before & journal(node)

    wait_until(is_deleted, "the journal's segments to be deleted")


def test_agent_reports_journal_gap_after_a_stop(node: CassandraNode, tmp_path: Path) -> None:
    agent = agent_of(node, tmp_path / "agent")
    agent.process.launch()
    try:
        execute(node, last_write(1))
        wait_for_row(agent, 1)
        fill(node, 2)
        execute(node, last_write(3))
        wait_for_row(agent, 3)
        assert "segment_lost" not in agent.conditions()

        agent.process.stop()
        fill(node, 4)
        agent.process.launch()
        execute(node, last_write(5))
        wait_for_row(agent, 5)
        agent.process.wait_until(lambda: "segment_lost" in agent.conditions(), "the gap")
        (reason,) = (agent.directory / "relocation" / "error").glob("*.reason.json")
        assert "while the agent was stopped" in reason.read_text()
    finally:
        agent.process.end()
