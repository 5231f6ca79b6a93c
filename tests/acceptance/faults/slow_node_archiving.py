"""A node that archives its commit log by hard links, and is killed again and again."""

from pathlib import Path

import pytest

from tests.acceptance.faults.node_rig import SETTINGS, NodeRig, keyspace
from tests.acceptance.faults.situation import situation
from tests.support.fault_reports import Report
from tests.support.servers.cassandra import CassandraNode

pytestmark = pytest.mark.servers

KILLS = 10
ROWS = 60
VALUE = "x" * 4000


@situation(
    "node",
    "The node archives with `archive_command=/bin/ln`, so that each segment keeps a second link, "
    "and is killed ten times",
    action="It takes a segment for final when the node's own commit log directory no longer has "
    "it, delivers it and removes it from `cdc_raw`.",
    health="`degraded` (`schema_not_refreshed`) while the node is away, `ok` afterwards",
    arrival="All events that the node had synced. No segment stays in `cdc_raw`.",
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
    with node:
        rig = NodeRig(node, tmp_path / "rig")
        try:
            keyspace(rig, "shop")
            rig.change("CREATE TABLE shop.t (id int PRIMARY KEY, v text) WITH cdc = true")
            rig.start_agent()
            for kill in range(KILLS):
                write(rig, kill * ROWS)
                if kill % 3 == 1:
                    node.close_segment()
                if kill % 2:
                    node.flush("shop")
                node.kill()
                node.start()
            write(rig, KILLS * ROWS)
            rig.drain()
            rig.wait_for_status("ok")
            assert list(rig.quarantine.glob("*")) == []
            linked = [path for path in rig.archive.glob("*.log") if path.stat().st_nlink > 1]
            assert linked, "the node archived no segment"
            written = {row.id for row in node.execute("SELECT id FROM shop.t")}
            assert written <= {each.value["after"]["id"]["value"] for each in rig.arrived()}
            report(rig.outcome())
        finally:
            rig.agent.end()


def write(rig: NodeRig, first: int) -> None:
    rig.insert("shop.t", [(n, f"{n} {VALUE}") for n in range(first, first + ROWS)], "id, v")
