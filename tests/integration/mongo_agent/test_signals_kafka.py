"""Signals from a topic of a real broker, while the agent runs and while it did not."""

import json
import threading
from concurrent.futures import Future

import pytest
from confluent_kafka import Producer

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.signals.kafka import SignalTopic, signal_of
from mongo_agent.signals.signal import Signal, SignalResult
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.errors import ConfigError
from sidecar.sinks.kafka.topics.tailer import TailedRecord
from tests.support.mongodb.running_agent import RunAgent
from tests.support.mongodb.server.client import Client
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import DEADLINE_S


def value(name: str) -> bytes:
    data = {"data-collections": [f"shop.{name}"]}
    return json.dumps({"id": name, "type": "execute-snapshot", "data": data}).encode()


def test_a_record_with_our_name_is_a_signal() -> None:
    signal = signal_of(TailedRecord(b"shop", value("a"), 7), "shop")
    assert signal is not None
    assert (signal.id, signal.type, signal.kafka_offset) == ("a", "execute-snapshot", 7)
    assert signal_of(TailedRecord(b"other", value("a"), 7), "shop") is None
    assert signal_of(TailedRecord(None, value("a"), 7), "shop") is None


@pytest.mark.parametrize("noise", [None, b"", b"{", b"[]", b"\xff"])
def test_invalid_value_is_rejected_and_skipped(noise: bytes | None) -> None:
    signal = signal_of(TailedRecord(b"shop", noise, 7), "shop")
    assert signal is not None
    progress, answer = apply_signal(SnapshotProgress(), signal, Namespaces())
    assert not answer.is_accepted
    assert progress == SnapshotProgress(kafka_offset=7)


def test_unknown_client_settings_are_rejected() -> None:
    with pytest.raises(ConfigError):
        SignalTopic({"bootstrap.server": "x"}, "t", "shop", None, lambda _: Future())


class Agent:
    """Applies signals as the pipeline does."""

    def __init__(self, progress: SnapshotProgress) -> None:
        self.progress = progress
        self.changed = threading.Condition()

    def send(self, signal: Signal) -> Future[SignalResult]:
        future: Future[SignalResult] = Future()
        with self.changed:
            self.progress, answer = apply_signal(self.progress, signal, Namespaces())
            self.changed.notify_all()
        future.set_result(answer)
        return future

    def wait_for(self, *names: str) -> None:
        def is_there() -> bool:
            return tuple(each.signal for each in self.progress.requests) == names

        with self.changed:
            assert self.changed.wait_for(is_there, DEADLINE_S), self.progress


@pytest.mark.servers
def test_signals_are_taken_once_over_restarts(broker: KafkaBroker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}-signal"
    broker.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def send(key: str, name: str) -> None:
        producer.produce(topic, value(name), key)
        assert producer.flush(DEADLINE_S) == 0

    settings = {"bootstrap.servers": broker.bootstrap}
    send("shop", "a")
    first = Agent(SnapshotProgress(kafka_offset=-1))
    with SignalTopic(settings, topic, "shop", -1, first.send):
        first.wait_for("a")
        send("other", "b")
        send("shop", "c")
        first.wait_for("a", "c")
    send("shop", "d")
    second = Agent(first.progress)
    behind = first.progress.kafka_offset
    assert behind == 2
    with SignalTopic(settings, topic, "shop", behind, second.send):
        second.wait_for("a", "c", "d")


@pytest.mark.servers
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
        assert producer.flush(DEADLINE_S) == 0

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
