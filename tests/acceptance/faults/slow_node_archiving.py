"""A node that archives its commit log by hard links, and is killed again and again."""

from pathlib import Path

import pytest

from tests.acceptance.faults.node_harness import SETTINGS, NodeHarness, keyspace
from tests.acceptance.faults.situation import situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.cassandra import CassandraNode

pytestmark = pytest.mark.servers

KILLS = 10
ROWS = 60
VALUE = "x" * 4000


@situation(
    "The node archives with `archive_command=/bin/ln`, so that each segment keeps a second link, "
    "and is killed ten times"
)
def test_archiving_by_hard_links(tmp_path: Path, report: Report) -> None:
    archive = tmp_path / "node-archive"
    archive.mkdir()
    node = CassandraNode(tmp_path / "node", settings=SETTINGS)
    node.yaml.parent.mkdir(parents=True)
    node.yaml.with_name("commitlog_archiving.properties").write_text(
        f"archive_command=/bin/ln %path {archive}/%name\n"
        "restore_command=\nrestore_directories=\nrestore_point_in_time=\n"
    )
    with node, NodeHarness(node, tmp_path / "rig") as harness:
        keyspace(harness, "shop")
        harness.change("CREATE TABLE shop.t (id int PRIMARY KEY, v text) WITH cdc = true")
        harness.start_agent()
        for kill in range(KILLS):
            write(harness, kill * ROWS)
            if kill % 3 == 1:
                node.close_segment()
            if kill % 2:
                node.flush("shop")
            node.kill()
            node.start()
        write(harness, KILLS * ROWS)
        harness.drain()
        harness.wait_for_status("ok")
        assert list(harness.quarantine.glob("*")) == []
        linked = [path for path in harness.archive.glob("*.log") if path.stat().st_nlink > 1]
        assert linked, "the node archived no segment"
        written = {row.id for row in node.execute("SELECT id FROM shop.t")}
        assert written <= {each.value["after"]["id"]["value"] for each in harness.arrived()}
        report(harness.outcome())


def write(harness: NodeHarness, first: int) -> None:
    harness.insert("shop.t", [(n, f"{n} {VALUE}") for n in range(first, first + ROWS)], "id, v")
