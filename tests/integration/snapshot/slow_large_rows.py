"""A node with a heap of 512 MiB and rows of 1 B to 5 MB: the snapshot copies every row, and the
node does not run out of memory."""

from pathlib import Path
from random import Random

from tests.support.node.snapshot_agent import Agent
from tests.support.seeds import draw_seed
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads.scenario import create_keyspace

TOTAL_BYTES = 400 << 20
LARGEST_BYTES = 5_000_000
SETTINGS = NodeSettings(
    heap_mib=512, commitlog_segment_mib=32, commitlog_total_mib=256, commitlog_sync_period_ms=200
)


def test_snapshot_of_large_rows_spares_node_memory(tmp_path: Path) -> None:
    seed = draw_seed()
    random = Random(seed)
    with CassandraNode(tmp_path / "node", settings=SETTINGS) as node:
        node.execute(create_keyspace("shop"))
        node.execute("CREATE TABLE shop.files (id int PRIMARY KEY, content blob) WITH cdc = true")
        written: dict[int, int] = {}
        insert = node.session().prepare("INSERT INTO shop.files (id, content) VALUES (?, ?)")
        while sum(written.values()) < TOTAL_BYTES:
            number = len(written)
            largest = random.choice([10, 10_000, LARGEST_BYTES, LARGEST_BYTES])
            written[number] = random.randint(1, largest)
            node.session().execute(insert, (number, bytes(written[number])))
        node.flush("shop", "files")
        agent = Agent(node, tmp_path / "agent", snapshot_mode="initial")
        try:
            agent.process.launch()
            copied = agent.wait_for("shop.files", "completed")
        finally:
            agent.process.end()
        log = node.log_file.read_text(errors="replace")
        assert "java.lang.OutOfMemoryError" not in log
        assert copied["rows"] == len(written)
        ids = {event["value"]["after"]["id"]["value"] for event in agent.events(is_snapshot=True)}
        assert ids == set(written)
