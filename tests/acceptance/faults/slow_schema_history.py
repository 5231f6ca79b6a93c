"""The stored schema is lost while segments with a dropped table wait."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.schema.history import FILE_NAME
from tests.acceptance.faults.node_rig import SETTINGS, NodeRig, keyspace, make_captured_table
from tests.acceptance.faults.situation import situation
from tests.support.fault_reports import Report
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
def rig(node: CassandraNode, tmp_path: Path) -> Iterator[NodeRig]:
    # The node answers within milliseconds; a schema that is not in the log never comes.
    rig = NodeRig(node, tmp_path, {"segment.blocked.timeout.ms": 3000})
    try:
        yield rig
    finally:
        rig.agent.end()


def rows(first: int) -> list[tuple[int, str]]:
    return [(number, f"value {number}") for number in range(first, first + ROWS)]


def lose(rig: NodeRig, ks: str, damage: Callable[[Path], None]) -> bytes:
    """Two tables have events in a segment that waits, then one is dropped and the stored schema is
    damaged. Returns the stored schema."""
    keyspace(rig, ks)
    rig.change(
        f"CREATE TABLE {ks}.gone (id int PRIMARY KEY, v text) WITH cdc = true",
        f"CREATE TABLE {ks}.kept (id int PRIMARY KEY, v text) WITH cdc = true",
    )
    rig.start_agent()
    for table in ("gone", "kept"):
        rig.insert(f"{ks}.{table}", rows(0), "id, v")
    rig.drain()
    rig.agent.stop()
    for table in ("gone", "kept", "gone"):
        rig.insert(f"{ks}.{table}", rows(ROWS), "id, v")
    rig.node.close_segment()
    rig.node.execute(f"DROP TABLE {ks}.gone")
    path = rig.offsets / FILE_NAME
    stored = path.read_bytes()
    damage(path)
    rig.start_agent()
    rig.wait_for(lambda: "segment_blocked" in rig.codes(), "/health to report the held segment")
    rig.drain()
    rig.wait_for_status("degraded", "segment_quarantined")
    return stored


@situation(
    "schema",
    "The stored schema is removed while a dropped table has pending events",
    action="It waits `segment.blocked.timeout.ms` for the schema, quarantines the segment and "
    "delivers all other tables.",
    health="`failing` (`segment_blocked`), then `degraded` (`segment_quarantined`)",
    arrival="All events of the other tables. Those of the dropped table are on record.",
)
def test_removed(rig: NodeRig, report: Report) -> None:
    lose(rig, "removed", Path.unlink)
    assert rig.recorded(), rig.log()
    outcome = rig.outcome(by_time=False)
    assert outcome.recorded == 2 * ROWS
    report(outcome)


@situation(
    "schema",
    "The stored schema is damaged, and is restored from a backup",
    action="It logs a WARNING, continues as without the file, and after the restore and "
    "`agent quarantine retry --all` delivers the quarantined segment.",
    health="`failing` (`segment_blocked`), then `degraded` (`segment_quarantined`); `ok` after the "
    "retry",
    arrival="All events after the retry. Those of the other tables repeat with the same id.",
)
def test_damaged_and_restored(rig: NodeRig, report: Report) -> None:
    def overwrite(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:100])

    stored = lose(rig, "damaged", overwrite)
    assert "the stored schema is ignored" in rig.log()
    assert rig.outcome(by_time=False).recorded == 2 * ROWS
    rig.agent.stop()
    (rig.offsets / FILE_NAME).write_bytes(stored)
    rig.start_agent()
    rig.run_command("quarantine", "retry", "--all")
    rig.wait_for(lambda: not rig.recorded(), "the quarantine to be empty")
    rig.drain()
    rig.wait_for_status("ok")
    outcome = rig.outcome(by_time=False)
    assert outcome.recorded == 0
    report(outcome)


@situation(
    "schema",
    "The stored schema is removed while the agent runs, and a table is dropped",
    action="It continues with the schema in memory, and stores it again with the next change.",
    health="`ok`",
    arrival="All events, once, also after a restart.",
)
def test_removed_while_running(rig: NodeRig, report: Report) -> None:
    ks = keyspace(rig, "running")
    rig.change(
        f"CREATE TABLE {ks}.gone (id int PRIMARY KEY, v text) WITH cdc = true",
        f"CREATE TABLE {ks}.kept (id int PRIMARY KEY, v text) WITH cdc = true",
    )
    rig.start_agent()
    for table in ("gone", "kept"):
        rig.insert(f"{ks}.{table}", rows(0), "id, v")
    rig.drain()
    path = rig.offsets / FILE_NAME
    path.unlink()
    for table in ("gone", "kept"):
        rig.insert(f"{ks}.{table}", rows(ROWS), "id, v")
    rig.change(f"DROP TABLE {ks}.gone", f"ALTER TABLE {ks}.kept ADD w int")
    rig.insert(f"{ks}.kept", rows(2 * ROWS), "id, v")
    rig.drain()
    rig.wait_for_status("ok")
    rig.wait_for(path.exists, "the schema to be stored again")
    rig.agent.stop()
    rig.insert(f"{ks}.kept", rows(3 * ROWS), "id, v")
    rig.start_agent()
    rig.drain()
    rig.wait_for_status("ok")
    assert rig.recorded() == {}
    report(rig.outcome(by_time=False))
