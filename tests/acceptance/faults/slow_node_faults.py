"""The node is down, killed, full, replaced, upgraded or archives segments under an agent."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from cassandra import OperationTimedOut, WriteFailure, WriteTimeout

from tests.acceptance.faults.node_harness import SETTINGS, NodeHarness, keyspace
from tests.acceptance.faults.situation import situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.cassandra_tools import nodetool
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

ROWS = 300
KILLS, ROWS_OF_A_KILL = 10, 60
VALUE = "x" * 4000
TABLE = "CREATE TABLE {}.t (id int PRIMARY KEY, v text) WITH cdc = true"
SMALL = replace(SETTINGS, cdc_total_mib=8)
"""Eight segments fit into `cdc_raw`."""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CassandraNode]:
    with CassandraNode(tmp_path / "node", settings=SETTINGS) as node:
        yield node


@pytest.fixture
def harness(node: CassandraNode, tmp_path: Path) -> Iterator[NodeHarness]:
    with NodeHarness(node, tmp_path / "rig") as harness:
        yield harness


def write(harness: NodeHarness, first: int, count: int = ROWS) -> None:
    harness.insert("shop.t", [(n, f"{n} {VALUE}") for n in range(first, first + count)], "id, v")


def make_table(harness: NodeHarness) -> None:
    keyspace(harness, "shop")
    harness.change(TABLE.format("shop"))


@situation("The node is down when the agent starts")
def test_agent_starts_while_the_node_is_down(harness: NodeHarness, report: Report) -> None:
    make_table(harness)
    harness.start_agent()
    write(harness, 0)
    harness.wait_for_events(ROWS)
    harness.agent.stop()
    write(harness, ROWS)
    harness.node.close_segment()
    harness.node.stop()

    harness.start_agent()
    harness.wait_for_events(2 * ROWS)
    harness.wait_for_status("degraded", "schema_not_refreshed")
    harness.agent.stop()

    shutil.move(harness.offsets, harness.directory / "old-offsets")
    harness.offsets.mkdir()
    harness.start_agent()
    harness.wait_for_status("failing", "schema_unavailable")
    assert harness.is_live()
    harness.node.start()
    write(harness, 2 * ROWS)
    harness.drain()
    harness.wait_for_status("ok")
    report(harness.outcome())


@situation("The node is killed in the middle of a segment, three times")
def test_node_kills_in_mid_segment_lose_nothing(harness: NodeHarness, report: Report) -> None:
    make_table(harness)
    harness.start_agent()
    for turn in range(3):
        first = turn * 2 * ROWS
        write(harness, first)
        harness.wait_for_events(1)
        write(harness, first + ROWS)
        harness.node.kill()
        harness.wait_for_status("degraded", "schema_not_refreshed")
        harness.node.start()
    write(harness, 6 * ROWS)
    harness.drain()
    harness.wait_for_status("ok")
    assert list(harness.quarantine.glob("*")) == []
    written = {row.id for row in harness.node.execute("SELECT id FROM shop.t")}
    delivered = {each.value["after"]["id"]["value"] for each in harness.arrived()}
    assert written <= delivered
    report(harness.outcome())


def fill(harness: NodeHarness, first: int) -> int:
    """Write until the node rejects a write; returns the number of the first rejected row."""
    session = harness.node.session()
    insert = session.prepare("INSERT INTO shop.t (id, v) VALUES (?, ?)")
    number = first
    while True:
        try:
            session.execute(insert, (number, "x" * 40_000), timeout=20)
        except (WriteFailure, WriteTimeout, OperationTimedOut):
            return number
        number += 1


@situation("`cdc_raw` is full, `cdc_block_writes: true`")
def test_full_cdc_raw_with_blocking_writes_loses_nothing(tmp_path: Path, report: Report) -> None:
    with (
        CassandraNode(tmp_path / "node", settings=SMALL) as node,
        NodeHarness(node, tmp_path / "rig") as harness,
    ):
        make_table(harness)
        harness.start_agent()
        write(harness, 0)
        harness.wait_for_events(ROWS)
        harness.agent.stop()
        refused = fill(harness, ROWS)
        assert refused > ROWS + 50
        harness.start_agent()
        harness.wait_for_events(refused)

        def takes_writes() -> bool:
            try:
                write(harness, refused, 1)
            except WriteFailure:
                return False
            return True

        harness.wait_for(takes_writes, "the node to take writes again")
        write(harness, refused + 1)
        harness.drain()
        harness.wait_for_status("ok")
        report(harness.outcome())


def stop_until_deleted(
    tmp_path: Path, report: Report, reach: Callable[[NodeHarness], None]
) -> None:
    """Stop the agent until the node has deleted all existing segments. `reach`: the agent's
    progress at the stop."""
    settings = replace(SMALL, cdc_block_writes=False)
    with (
        CassandraNode(tmp_path / "node", settings=settings) as node,
        NodeHarness(node, tmp_path / "rig") as harness,
    ):
        make_table(harness)
        harness.start_agent()
        write(harness, 0)
        reach(harness)
        harness.agent.stop()
        first = ROWS
        write(harness, first)
        before = {each.path.name for each in node.cdc_segments()}
        while before & {each.path.name for each in node.cdc_segments()}:
            first += ROWS
            write(harness, first, 100)
            node.close_segment()
        harness.start_agent()
        write(harness, first + ROWS)
        harness.drain()
        harness.witness()
        assert "WARNING" in harness.log()
        assert harness.metric("cdc_quarantined_total") > 0
        outcome = harness.outcome()
        assert outcome.recorded > 0
        report(outcome)
        harness.wait_for_status("degraded", "segment_lost")


@situation("`cdc_raw` is full, `cdc_block_writes: false`; the agent had begun the oldest segment")
def test_segments_deleted_after_a_partial_read_are_recorded(tmp_path: Path, report: Report) -> None:
    stop_until_deleted(tmp_path, report, lambda harness: harness.wait_for_events(ROWS))


@situation("`cdc_raw` is full, `cdc_block_writes: false`; the agent had finished every segment")
def test_unread_segments_deleted_by_the_node_are_recorded(tmp_path: Path, report: Report) -> None:
    stop_until_deleted(tmp_path, report, NodeHarness.drain)


@situation("The node is replaced: an empty data directory, the agent's old offsets")
def test_replaced_node_requires_an_offset_reset(harness: NodeHarness, report: Report) -> None:
    make_table(harness)
    harness.start_agent()
    write(harness, 0)
    harness.drain()
    old = harness.node.execute("SELECT host_id FROM system.local")[0].host_id
    harness.node.stop()
    for name in ("data", "commitlog", "saved_caches", "hints"):
        shutil.rmtree(harness.node.directory / name, ignore_errors=True)
    harness.node.start()
    new = harness.node.execute("SELECT host_id FROM system.local")[0].host_id
    assert new != old

    def has_ended() -> bool:
        return not harness.agent.is_running

    wait_until(has_ended, "the running agent to end")
    for _ in range(2):
        assert harness.agent.exit_status == 2, harness.agent.log_tail()
        last = harness.agent.log_tail()[-1500:]
        assert str(old) in last
        assert str(new) in last
        assert "agent offsets reset --snapshots" in last
        harness.agent.launch()
        wait_until(has_ended, "the agent to end")

    harness.run_command("offsets", "reset", "--snapshots")
    make_table(harness)
    write(harness, 0)
    harness.start_agent()
    harness.drain()
    harness.wait_for_status("ok")
    report(harness.outcome(by_time=False))


def upgrade(
    tmp_path: Path,
    old_version: str,
    new_version: str,
    report: Report,
    settings: NodeSettings = SETTINGS,
    finish: Callable[[CassandraNode], object] = lambda node: None,
) -> None:
    """`finish` completes the upgrade of the running new node, between writes."""
    old = CassandraNode(tmp_path / "node", version=old_version, settings=settings)
    new = CassandraNode(
        tmp_path / "node", version=new_version, settings=settings, address=old.address
    )
    harness = NodeHarness(old, tmp_path / "rig")
    try:
        with old:
            make_table(harness)
            harness.start_agent()
            write(harness, 0)
            old.stop()
            harness.node = new
            with new:
                with ThreadPoolExecutor(1) as executor:
                    finished = executor.submit(finish, new)
                    write(harness, ROWS)
                    finished.result()
                harness.change("ALTER TABLE shop.t ADD w int")
                harness.insert("shop.t", [(n, n) for n in range(2 * ROWS, 3 * ROWS)], "id, w")
                harness.wait_for_events(3 * ROWS)
                harness.drain()
                harness.wait_for_status("ok")
                report(harness.outcome())
    finally:
        harness.agent.end()


@situation("The node is upgraded in place from 5.0.9 to 6.0-alpha2, and gets a new host id")
def test_node_upgrade_to_6_0_loses_nothing(tmp_path: Path, report: Report) -> None:
    settings = replace(SETTINGS, storage_compatibility_mode="NONE")
    upgrade(
        tmp_path,
        "5.0.9",
        "6.0-alpha2",
        report,
        settings,
        lambda node: nodetool(node, "cms", "initialize"),
    )


@situation("The node is upgraded in place from 4.1.10 to 5.0.9")
def test_node_upgrade_to_5_0_loses_nothing(tmp_path: Path, report: Report) -> None:
    upgrade(tmp_path, "4.1.10", "5.0.9", report)


@situation("The node is upgraded in place from 3.11.19 to 4.1.10")
def test_node_upgrade_to_4_1_loses_nothing(tmp_path: Path, report: Report) -> None:
    upgrade(tmp_path, "3.11.19", "4.1.10", report)


@situation(
    "The node archives with `archive_command=/bin/ln`, so that each segment keeps a second link, "
    "and is killed ten times"
)
def test_archiving_by_hard_links_loses_nothing(tmp_path: Path, report: Report) -> None:
    archive = tmp_path / "node-archive"
    archive.mkdir()
    node = CassandraNode(tmp_path / "node", settings=SETTINGS)
    node.yaml.parent.mkdir(parents=True)
    node.yaml.with_name("commitlog_archiving.properties").write_text(
        f"archive_command=/bin/ln %path {archive}/%name\n"
        "restore_command=\nrestore_directories=\nrestore_point_in_time=\n"
    )
    with node, NodeHarness(node, tmp_path / "rig") as harness:
        make_table(harness)
        harness.start_agent()
        for kill in range(KILLS):
            write(harness, kill * ROWS, ROWS_OF_A_KILL)
            if kill % 3 == 1:
                node.close_segment()
            if kill % 2:
                node.flush("shop")
            node.kill()
            node.start()
        write(harness, KILLS * ROWS, ROWS_OF_A_KILL)
        harness.drain()
        harness.wait_for_status("ok")
        assert list(harness.quarantine.glob("*")) == []
        linked = [path for path in harness.archive.glob("*.log") if path.stat().st_nlink > 1]
        assert linked, "the node archived no segment"
        written = {row.id for row in node.execute("SELECT id FROM shop.t")}
        assert written <= {each.value["after"]["id"]["value"] for each in harness.arrived()}
        report(harness.outcome())
