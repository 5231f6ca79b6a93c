"""Signals from a topic of a real broker, sent while the agent runs and while it is stopped."""

import json
from concurrent.futures import Future

import pytest
from confluent_kafka import Producer

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.signals.channels import SignalTopic, topic_signal
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.errors import ConfigError
from sidecar.sinks.kafka.topics.reader import TailedRecord
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server.client import Client
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S


def value(name: str) -> bytes:
    data = {"data-collections": [f"shop.{name}"]}
    return json.dumps({"id": name, "type": "execute-snapshot", "data": data}).encode()


def test_record_with_the_topic_prefix_is_a_signal() -> None:
    signal = topic_signal(TailedRecord(b"shop", value("a"), 7), "shop")
    assert signal is not None
    assert (signal.id, signal.type, signal.kafka_offset) == ("a", "execute-snapshot", 7)
    assert topic_signal(TailedRecord(b"other", value("a"), 7), "shop") is None
    assert topic_signal(TailedRecord(None, value("a"), 7), "shop") is None


@pytest.mark.parametrize("noise", [None, b"", b"{", b"[]", b"\xff"])
def test_invalid_value_is_rejected_and_skipped(noise: bytes | None) -> None:
    signal = topic_signal(TailedRecord(b"shop", noise, 7), "shop")
    assert signal is not None
    progress, answer = apply_signal(SnapshotProgress(), signal, Namespaces())
    assert not answer.is_accepted
    assert progress == SnapshotProgress(kafka_offset=7)


def test_unknown_signal_client_settings_are_rejected() -> None:
    with pytest.raises(ConfigError):
        SignalTopic({"bootstrap.server": "x"}, "t", "shop", None, lambda _: Future())


@pytest.mark.servers
def test_kafka_signal_starts_one_snapshot(
    writer: Client, run_agent: RunAgent, broker: KafkaBroker, topic_prefix: str
) -> None:
    for name in "abcd":
        writer.shop[name].insert_one({"_id": name})
    topic = f"{topic_prefix}-signal"
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def ask(collection: str, key: str = topic_prefix) -> None:
        producer.produce(topic, value(collection), key)
        assert producer.flush(DEADLINE_S) == 0

    def wait_for(agent: RunningAgent, name: str) -> None:
        topic = f"{topic_prefix}.shop.{name}"
        agent.wait_until(
            lambda: topic in {each.topic for each in agent.published}, f"a copy of shop.{name}"
        )
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copies")

    channel = {
        "topic_prefix": topic_prefix,
        "signal_enabled_channels": "kafka",
        "signal_kafka_bootstrap_servers": broker.bootstrap,
    }
    # Before the first run of the agent, while it runs, and while it is stopped.
    ask("a")
    with run_agent(**channel) as agent:
        wait_for(agent, "a")
        ask("b", "other")
        ask("c")
        wait_for(agent, "c")
        assert [each.after for each in agent.published] == [{"_id": "a"}, {"_id": "c"}]
    ask("d")
    with run_agent(**channel) as agent:
        wait_for(agent, "d")
        taken = agent.published
    assert [(each.kind, each.after) for each in taken] == [("read", {"_id": "d"})]
