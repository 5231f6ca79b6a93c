"""Watermarks of a real node: Kafka has every acknowledged write that they cover, also after the
node is killed."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

DEADLINE_S = 200.0
TOPIC, EVENTS = "watermarks", "shop.s.t"
SYNC_LAG_MS = 1000


class Story:
    """A node, its agent, and the time at which each write was acknowledged."""

    def __init__(self, node: CassandraNode, broker: KafkaBroker, directory: Path) -> None:
        self.node = node
        self.broker = broker
        self.acknowledged_ms: dict[int, int] = {}
        properties = {
            "topic.prefix": "shop",
            "watermark.topic": TOPIC,
            "watermark.interval.ms": "300",
            "watermark.sync.lag.ms": SYNC_LAG_MS,
            "cassandra.config": node.yaml,
            "cdc.raw.directory": node.cdc_raw,
            "offset.backing.store.dir": directory / "offsets",
            "commit.log.relocation.dir": directory / "relocation",
            "sink": "kafka",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "topic.creation.enable": "true",
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
            "snapshot.mode": "never",
        }
        for name in ("offsets", "relocation"):
            (directory / name).mkdir(parents=True)
        self.agent = AgentProcess("agent", directory, properties)

    def write(self, count: int) -> None:
        for key in range(len(self.acknowledged_ms), len(self.acknowledged_ms) + count):
            self.node.execute(f"INSERT INTO s.t (k) VALUES ({key})")
            self.acknowledged_ms[key] = _now_ms()

    def watermark(self) -> dict[str, Any]:
        """The last message; empty before the first one."""
        if TOPIC not in self.broker.topics():
            return {}
        records = self.broker.consume_all(TOPIC)
        return orjson.loads(records[-1].value or b"") if records else {}

    def wait_for_watermark(self, after_ms: int) -> dict[str, Any]:
        self.agent.wait_until(
            lambda: (self.watermark().get("complete_until_ms") or 0) > after_ms,
            "the watermark to advance",
            DEADLINE_S,
        )
        return self.watermark()

    def delivered(self) -> set[int]:
        records = self.broker.consume_all(EVENTS)
        return {orjson.loads(record.value or b"")["after"]["k"]["value"] for record in records}

    def covered(self, watermark: dict[str, Any]) -> set[int]:
        """The writes that a watermark claims."""
        since, until = watermark["complete_since_ms"], watermark["complete_until_ms"]
        return {
            key
            for key, at_ms in self.acknowledged_ms.items()
            if since < at_ms <= until
            and not any(gap["from_ms"] < at_ms <= gap["to_ms"] for gap in watermark["gaps"])
        }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    settings = NodeSettings(commitlog_sync_period_ms=100)
    with (
        KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker,
        CassandraNode(tmp_path / "node", settings=settings) as node,
    ):
        story = Story(node, broker, tmp_path / "agent")
        try:
            yield story
        finally:
            story.agent.end()


def test_covered_writes_are_in_kafka_also_after_the_node_is_killed(story: Story) -> None:
    node, agent = story.node, story.agent
    node.execute(
        "CREATE KEYSPACE s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    node.execute("CREATE TABLE s.t (k int PRIMARY KEY) WITH cdc = true")
    agent.launch()
    began = story.wait_for_watermark(0)
    assert list(began["tables"]) == ["s.t"]
    assert began["hints"] == []
    assert began["replication"][0]["keyspaces"] == ["s"]
    # Whichever token the node has, one replica has the whole ring.
    ranges = began["replication"][0]["ranges"]
    assert (ranges[0]["after"], ranges[-1]["to"]) == (-(1 << 63), (1 << 63) - 1)

    story.wait_for_watermark(began["complete_since_ms"])
    story.write(50)
    watermark = story.wait_for_watermark(story.acknowledged_ms[49])
    assert story.covered(watermark) == set(range(50))
    assert story.delivered() == set(range(50))

    story.write(50)
    node.restart(clean=False)
    restarted_ms = _now_ms()
    story.write(50)
    watermark = story.wait_for_watermark(max(restarted_ms, story.acknowledged_ms[149]))
    (gap,) = watermark["gaps"]
    assert gap["cause"] == "node_restart"
    assert gap["from_ms"] < story.acknowledged_ms[99] < gap["to_ms"]
    covered = story.covered(watermark)
    assert covered >= {149}
    assert covered <= story.delivered()
    agent.stop()
