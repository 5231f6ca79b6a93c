"""Watermarks of a real node: Kafka contains every acknowledged write that they cover, also after
the node is killed."""

import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.acceptance.agent.node_story import KEYSPACE, NodeStory
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers


class Story(NodeStory):
    """Table with the acknowledgement time of each write."""

    def __init__(
        self, node: CassandraNode, cdc_raw: Path, broker: KafkaBroker, prefix: str, directory: Path
    ) -> None:
        self.topic = f"{prefix}-watermarks"
        properties = {
            "watermark.topic": self.topic,
            "watermark.interval.ms": "300",
            "watermark.sync.lag.ms": "1000",
        }
        super().__init__(node, cdc_raw, broker, prefix, directory, properties)
        self.acknowledged_ms: dict[int, int] = {}
        node.execute(KEYSPACE)
        node.execute("CREATE TABLE s.t (k int PRIMARY KEY) WITH cdc = true")

    def write(self, count: int) -> None:
        for key in range(len(self.acknowledged_ms), len(self.acknowledged_ms) + count):
            self.node.execute(f"INSERT INTO s.t (k) VALUES ({key})")
            self.acknowledged_ms[key] = _now_ms()

    def watermark(self) -> dict[str, Any]:
        """Last message; empty before the first one."""
        records = self.records(self.topic)
        return orjson.loads(records[-1].value or b"") if records else {}

    def watermark_after(self, time_ms: int) -> dict[str, Any]:
        self.wait_until(
            lambda: (self.watermark().get("complete_until_ms") or 0) > time_ms,
            "the watermark to advance",
        )
        return self.watermark()

    def delivered(self) -> set[int]:
        records = self.records(f"{self.prefix}.s.t")
        return {orjson.loads(record.value or b"")["after"]["k"]["value"] for record in records}

    def covered(self, watermark: dict[str, Any]) -> set[int]:
        """Writes that a watermark covers."""
        since, until = watermark["complete_since_ms"], watermark["complete_until_ms"]
        return {
            key
            for key, at_ms in self.acknowledged_ms.items()
            if since < at_ms <= until
            and not any(gap["from_ms"] < at_ms <= gap["to_ms"] for gap in watermark["gaps"])
        }

    def verify_covered_writes(self) -> None:
        began = self.watermark_after(0)
        assert (list(began["tables"]), began["hints"]) == (["s.t"], [])
        assert began["replication"][0]["keyspaces"] == ["s"]
        # The single replica owns the whole ring, whatever its token.
        ranges = began["replication"][0]["ranges"]
        assert (ranges[0]["after"], ranges[-1]["to"]) == (-(1 << 63), (1 << 63) - 1)
        self.watermark_after(began["complete_since_ms"])
        self.write(50)
        assert self.covered(self.watermark_after(self.acknowledged_ms[49])) == set(range(50))
        assert self.delivered() == set(range(50))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_kafka_contains_writes_covered_by_the_watermark(
    shared_node: CassandraNode,
    linked_cdc_raw: Path,
    broker: KafkaBroker,
    topic_prefix: str,
    tmp_path: Path,
) -> None:
    story = Story(shared_node, linked_cdc_raw, broker, topic_prefix, tmp_path / "agent")
    with story.running():
        story.verify_covered_writes()


@pytest.mark.slow
def test_watermark_excludes_unsynced_writes_of_a_killed_node(
    broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    """The test starts its own node, because it kills the node."""
    settings = NodeSettings(commitlog_sync_period_ms=100)
    with CassandraNode(tmp_path / "node", settings=settings) as node:
        story = Story(node, node.cdc_raw, broker, topic_prefix, tmp_path / "agent")
        with story.running():
            story.verify_covered_writes()
            story.write(50)
            node.restart(clean=False)
            restarted_ms = _now_ms()
            story.write(50)
            watermark = story.watermark_after(max(restarted_ms, story.acknowledged_ms[149]))
    (gap,) = watermark["gaps"]
    assert gap["cause"] == "node_restart"
    assert gap["from_ms"] < story.acknowledged_ms[99] < gap["to_ms"]
    covered = story.covered(watermark)
    assert covered >= {149}
    assert covered <= story.delivered()
