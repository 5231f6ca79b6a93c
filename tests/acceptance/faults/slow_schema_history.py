"""The stored schema is lost while segments with a dropped table wait."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.schema.history import FILE_NAME
from tests.acceptance.faults.node_harness import (
    SETTINGS,
    NodeHarness,
    keyspace,
    make_captured_table,
)
from tests.acceptance.faults.situation import situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.cassandra import CassandraNode

pytestmark = pytest.mark.servers

ROWS = 300


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    folder = tmp_path_factory.mktemp("history") / "node"
    with CassandraNode(folder, settings=SETTINGS) as node:
        make_captured_table(node)
        yield node


@pytest.fixture
def harness(node: CassandraNode, tmp_path: Path) -> Iterator[NodeHarness]:
    # The node answers within milliseconds; a schema that is not in the log never comes.
    with NodeHarness(node, tmp_path, {"segment.blocked.timeout.ms": 3000}) as harness:
        yield harness


def rows(first: int) -> list[tuple[int, str]]:
    return [(number, f"value {number}") for number in range(first, first + ROWS)]


def deliver_two_tables(harness: NodeHarness, ks: str) -> None:
    keyspace(harness, ks)
    for table in ("gone", "kept"):
        harness.change(f"CREATE TABLE {ks}.{table} (id int PRIMARY KEY, v text) WITH cdc = true")
    harness.start_agent()
    for table in ("gone", "kept"):
        harness.insert(f"{ks}.{table}", rows(0), "id, v")
    harness.drain()


def lose(harness: NodeHarness, ks: str, damage: Callable[[Path], None]) -> bytes:
    """Two tables have events in a segment that waits, then one is dropped and the stored schema is
    damaged. Returns the stored schema."""
    deliver_two_tables(harness, ks)
    harness.agent.stop()
    for table in ("gone", "kept", "gone"):
        harness.insert(f"{ks}.{table}", rows(ROWS), "id, v")
    harness.node.close_segment()
    harness.node.execute(f"DROP TABLE {ks}.gone")
    path = harness.offsets / FILE_NAME
    stored = path.read_bytes()
    damage(path)
    harness.start_agent()
    harness.wait_for(
        lambda: "segment_blocked" in harness.codes(), "/health to report the blocked segment"
    )
    harness.drain()
    harness.wait_for_status("degraded", "segment_quarantined")
    return stored


@situation("The stored schema is removed while a dropped table has pending events")
def test_removed(harness: NodeHarness, report: Report) -> None:
    lose(harness, "removed", Path.unlink)
    assert harness.recorded(), harness.log()
    outcome = harness.outcome(by_time=False)
    assert outcome.recorded == 2 * ROWS
    report(outcome)


@situation("The stored schema is damaged, and is restored from a backup")
def test_damaged_and_restored(harness: NodeHarness, report: Report) -> None:
    def overwrite(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:100])

    stored = lose(harness, "damaged", overwrite)
    assert "the stored schema is ignored" in harness.log()
    assert harness.outcome(by_time=False).recorded == 2 * ROWS
    harness.agent.stop()
    (harness.offsets / FILE_NAME).write_bytes(stored)
    harness.start_agent()
    harness.run_command("quarantine", "retry", "--all")
    harness.wait_for(lambda: not harness.recorded(), "the quarantine to be empty")
    harness.drain()
    harness.wait_for_status("ok")
    outcome = harness.outcome(by_time=False)
    assert outcome.recorded == 0
    report(outcome)


@situation("The stored schema is removed while the agent runs, and a table is dropped")
def test_removed_while_running(harness: NodeHarness, report: Report) -> None:
    ks = "running"
    deliver_two_tables(harness, ks)
    path = harness.offsets / FILE_NAME
    path.unlink()
    for table in ("gone", "kept"):
        harness.insert(f"{ks}.{table}", rows(ROWS), "id, v")
    harness.change(f"DROP TABLE {ks}.gone", f"ALTER TABLE {ks}.kept ADD w int")
    harness.insert(f"{ks}.kept", rows(2 * ROWS), "id, v")
    harness.drain()
    harness.wait_for_status("ok")
    harness.wait_for(path.exists, "the schema to be stored again")
    harness.agent.stop()
    harness.insert(f"{ks}.kept", rows(3 * ROWS), "id, v")
    harness.start_agent()
    harness.drain()
    harness.wait_for_status("ok")
    assert harness.recorded() == {}
    report(harness.outcome(by_time=False))
