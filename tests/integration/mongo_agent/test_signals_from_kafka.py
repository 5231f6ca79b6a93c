"""The agent copies what a topic asks for, while it runs and while it did not."""

import json
from typing import Any

import pytest
from confluent_kafka import Producer
from pymongo import MongoClient

from tests.support.mongodb.running_agent import RunAgent
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

Client = MongoClient[dict[str, Any]]


def test_a_copy_by_a_signal_in_a_topic(
    writer: Client, run_agent: RunAgent, broker: KafkaBroker, topic_prefix: str
) -> None:
    writer.shop.a.insert_one({"_id": 1})
    writer.shop.b.insert_one({"_id": 2})
    topic = f"{topic_prefix}-signal"
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def ask(collection: str) -> None:
        data = {"data-collections": [collection]}
        signal = {"id": collection, "type": "execute-snapshot", "data": data}
        producer.produce(topic, json.dumps(signal), topic_prefix)
        assert producer.flush(300) == 0

    channel = {
        "topic_prefix": topic_prefix,
        "signal_enabled_channels": "kafka",
        "signal_kafka_bootstrap_servers": broker.bootstrap,
    }
    # Before the agent has ever run.
    ask("shop.a")
    with run_agent(**channel) as agent:
        agent.wait_until(lambda: bool(agent.published), "a copy of shop.a")
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copies")
        assert {each.topic for each in agent.published} == {f"{topic_prefix}.shop.a"}
    ask("shop.b")
    with run_agent(**channel) as agent:
        topic_of_b = f"{topic_prefix}.shop.b"
        agent.wait_until(
            lambda: any(each.topic == topic_of_b for each in agent.published), "a copy of shop.b"
        )
        taken = agent.published
    assert [(each.kind, each.after) for each in taken] == [("read", {"_id": 2})]
