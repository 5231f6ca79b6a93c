"""The agent copies what a topic asks for, while it runs and while it did not."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pymongo import MongoClient

from tests.support.mongodb.running_agent import RunAgent
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

Client = MongoClient[dict[str, Any]]


def test_a_copy_by_a_signal_in_a_topic(writer: Client, run_agent: RunAgent, tmp_path: Path) -> None:
    writer.shop.a.insert_one({"_id": 1})
    writer.shop.b.insert_one({"_id": 2})
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker:
        broker.create_topic("p-signal")
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

        def ask(collection: str) -> None:
            data = {"data-collections": [collection]}
            signal = {"id": collection, "type": "execute-snapshot", "data": data}
            producer.produce("p-signal", json.dumps(signal), "p")
            assert producer.flush(300) == 0

        channel = {
            "signal.enabled.channels": "kafka",
            "signal.kafka.bootstrap.servers": broker.bootstrap,
        }
        # Before the agent has ever run.
        ask("shop.a")
        with run_agent(**channel) as agent:
            agent.wait_until(lambda: bool(agent.published), "a copy of shop.a")
            agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copies")
            assert {each.topic for each in agent.published} == {"p.shop.a"}
        ask("shop.b")
        with run_agent(**channel) as agent:
            agent.wait_until(
                lambda: any(each.topic == "p.shop.b" for each in agent.published),
                "a copy of shop.b",
            )
            taken = agent.published
    assert [(each.kind, each.after) for each in taken] == [("read", {"_id": 2})]
