"""One node and its agent: restores, 50 tables at once, a changed prefix, lost directories."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.faults.node_harness import SETTINGS, NodeHarness, keyspace, writing
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_tools import nodetool, sstableloader
from tests.support.servers.processes import wait_until

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1800)]

ROWS = 300
TABLES = 50


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    with CassandraNode(tmp_path_factory.mktemp("node") / "node", settings=SETTINGS) as node:
        yield node


@pytest.fixture
def harness(
    node: CassandraNode, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[NodeHarness]:
    """Harness of a node without tables; the keyspace is `shop`."""
    harness = NodeHarness(node, tmp_path / "rig", {"snapshot.scan.interval.ms": 300})
    keyspace(harness, "shop")
    harness.change("CREATE TABLE shop.t (id int PRIMARY KEY, v text) WITH cdc = true")
    try:
        yield harness
    finally:
        harness.agent.end()
        node.execute("DROP KEYSPACE shop")


def write(harness: NodeHarness, first: int) -> None:
    harness.insert("shop.t", [(number, "v") for number in range(first, first + ROWS)], "id, v")


def rows(harness: NodeHarness, *, is_snapshot: bool) -> set[int]:
    """Keys of the events of `shop.t`."""
    return {
        each.value["after"]["id"]["value"]
        for each in harness.arrived()
        if each.topic.endswith("shop.t")
        and (each.value["source"]["snapshot"] == "true") == is_snapshot
    }


def snapshot_of(node: CassandraNode, table: str) -> Path:
    """Directory of the snapshot `backup`. Dropped tables with this name have one, too."""
    keyspace_name, name = table.split(".")
    found = (node.directory / "data" / keyspace_name).glob(f"{name}-*/snapshots/backup")
    return max(found, key=lambda path: path.stat().st_mtime_ns)


def lose(harness: NodeHarness, *folders: Path) -> None:
    """Empty directories. The node never links its current segment again, so the story continues
    with the next one."""
    harness.node.close_segment()
    for folder in folders:
        for path in folder.iterdir():
            path.unlink()
    harness.node.close_segment()


def copy_again(harness: NodeHarness) -> None:
    """Documented command, until the snapshot is complete."""
    assert "Started" in harness.run_command("snapshot", "start", "shop.t")

    def is_completed() -> bool:
        document = harness.agent.ask("/snapshot") or {"tables": []}
        return [each["state"] for each in document["tables"]] == ["completed"]

    harness.wait_for(is_completed, "the snapshot")


def truncated_after_backup(harness: NodeHarness) -> Path:
    """Run the agent over a table that is then truncated; return a copy of its snapshot."""
    harness.start_agent()
    write(harness, 0)
    harness.wait_for_events(ROWS)
    nodetool(harness.node, "snapshot", "-t", "backup", "shop")
    harness.node.execute("TRUNCATE shop.t")
    copy = harness.directory / "shop" / "t"
    shutil.copytree(snapshot_of(harness.node, "shop.t"), copy)
    return copy


def test_nodetool_restore_requires_a_snapshot(harness: NodeHarness) -> None:
    """`nodetool import` links sstables: the commit log contains none of their rows."""
    node, restored = harness.node, truncated_after_backup(harness)
    nodetool(node, "import", "shop", "t", str(restored))
    assert len(node.execute("SELECT id FROM shop.t")) == ROWS

    before = len(harness.arrived())
    write(harness, ROWS)
    harness.drain()
    assert len(harness.arrived()) == before + ROWS
    copy_again(harness)
    assert rows(harness, is_snapshot=True) == set(range(2 * ROWS))
    harness.wait_for_status("ok")


@pytest.mark.parametrize("is_logged", [True, False])
def test_sstableloader_rows_are_captured_if_streams_are_logged(
    harness: NodeHarness, is_logged: bool
) -> None:
    """`sstableloader` streams rows, which the log contains if `cdc_on_repair_enabled` is true (the
    default)."""
    node, loaded = harness.node, truncated_after_backup(harness)
    if not is_logged:
        node.stop()
        node.start(replace(SETTINGS, yaml={"cdc_on_repair_enabled": False}))
        harness.drain()
    before = len(harness.arrived())
    sstableloader(node, loaded)
    assert len(node.execute("SELECT id FROM shop.t")) == ROWS
    write(harness, ROWS)
    harness.drain()
    again = [each.event_id for each in harness.arrived()[before:]]
    first = [each.event_id for each in harness.arrived()[:before]]
    assert set(first) <= set(again) if is_logged else not set(first) & set(again)
    assert len(again) == (2 * ROWS if is_logged else ROWS)
    if not is_logged:
        copy_again(harness)
        assert rows(harness, is_snapshot=True) == set(range(2 * ROWS))
    if not is_logged:
        node.stop()
        node.start(SETTINGS)


def test_enabling_cdc_for_fifty_tables_loses_nothing(harness: NodeHarness) -> None:
    tables = [f"shop.t{number:02}" for number in range(TABLES)]
    harness.change(*(f"CREATE TABLE {each} (id int PRIMARY KEY, v text)" for each in tables))
    harness.start_agent("snapshot.mode=always")
    for table in tables:
        harness.insert(table, [(number, "before") for number in range(10)], "id, v")
    with writing(harness, "shop.t"):
        harness.change(*(f"ALTER TABLE {each} WITH cdc = true" for each in tables))
        for table in tables:
            harness.insert(table, [(number, "after") for number in range(10, 20)], "id, v")

        def are_copied() -> bool:
            document = harness.agent.ask("/snapshot") or {"tables": []}
            states = {each["table"]: each["state"] for each in document["tables"]}
            return all(states.get(table) == "completed" for table in tables)

        harness.wait_for(are_copied, "50 snapshots")
    harness.drain()
    harness.wait_for_status("ok")
    found: dict[str, set[int]] = {}
    for each in harness.arrived():
        found.setdefault(each.topic, set()).add(each.value["after"]["id"]["value"])
    for table in tables:
        assert found[f"faults.{table}"] == set(range(20)), table
    assert harness.recorded() == {}


def test_changed_prefix_moves_later_events_to_new_topics(harness: NodeHarness) -> None:
    """Only a snapshot copies existing rows to the new topics."""
    harness.start_agent()
    write(harness, 0)
    harness.drain()
    harness.agent.stop()
    harness.agent.launch("topic.prefix=other")
    wait_until(lambda: not harness.agent.is_running, "the end")
    assert harness.agent.exit_status == 2
    for part in ("`other`", "`faults`", "accept-prefix", "snapshot start"):
        assert part in harness.agent.log_tail()

    path = harness.agent.configuration
    path.write_text(path.read_text().replace("topic.prefix=faults", "topic.prefix=other"))
    harness.run_command("offsets", "accept-prefix")
    harness.start_agent()
    write(harness, ROWS)
    harness.drain()
    new = [each for each in harness.arrived() if each.topic == "other.shop.t"]
    assert {each.value["after"]["id"]["value"] for each in new} == set(range(ROWS, 2 * ROWS))
    copy_again(harness)
    new = [each for each in harness.arrived() if each.topic == "other.shop.t"]
    assert {each.value["after"]["id"]["value"] for each in new} == set(range(2 * ROWS))
    assert len({each.event_id for each in harness.arrived()}) >= 2 * ROWS


def test_lost_offsets_cause_repeats_but_no_loss(harness: NodeHarness) -> None:
    """The agent starts with the oldest segment of `cdc_raw`; repeats have equal ids."""
    harness.start_agent()
    write(harness, 0)
    harness.drain()
    write(harness, ROWS)
    harness.wait_for_events(2 * ROWS)
    harness.agent.kill()
    shutil.rmtree(harness.offsets)
    harness.offsets.mkdir()
    harness.start_agent()
    write(harness, 2 * ROWS)
    harness.drain()
    harness.wait_for_status("ok")
    outcome = harness.outcome()
    assert (outcome.lost, outcome.invented, outcome.delivered) == (0, 0, 3 * ROWS)
    assert 0 < outcome.repeated <= ROWS


def test_snapshot_replaces_lost_cdc_raw_segments(harness: NodeHarness) -> None:
    """The agent reports the lost undelivered segments."""
    harness.start_agent()
    write(harness, 0)
    harness.drain()
    write(harness, ROWS)
    harness.wait_for_events(2 * ROWS)
    harness.agent.stop()
    write(harness, 2 * ROWS)
    lose(harness, harness.node.cdc_raw)
    harness.start_agent()
    write(harness, 3 * ROWS)
    harness.drain()
    assert "segment_lost" in harness.codes()
    missing = set(range(4 * ROWS)) - rows(harness, is_snapshot=False)
    assert missing == set(range(2 * ROWS, 3 * ROWS))
    copy_again(harness)
    assert missing <= rows(harness, is_snapshot=True)
    for record in json.loads(harness.run_command("quarantine", "list", "--json")):
        harness.run_command("quarantine", "discard", record["segment"], "--yes")
    harness.wait_for_status("ok")


def test_snapshot_replaces_lost_offsets_and_cdc_raw(harness: NodeHarness) -> None:
    """The agent cannot know which segments are missing; it copies the tables."""
    harness.start_agent()
    write(harness, 0)
    harness.wait_for_events(ROWS)
    harness.agent.stop()
    write(harness, ROWS)
    lose(harness, harness.node.cdc_raw, harness.offsets)
    harness.start_agent("snapshot.mode=initial")
    write(harness, 2 * ROWS)
    harness.drain()
    harness.wait_for(
        lambda: rows(harness, is_snapshot=True) >= set(range(2 * ROWS)), "existing rows"
    )
    assert rows(harness, is_snapshot=False) >= set(range(2 * ROWS, 3 * ROWS))
    # The agent does not know the segments that were complete.
    assert harness.codes() <= {"segment_lost"}
