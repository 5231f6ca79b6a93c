"""The agent with its position in Kafka: a read-committed consumer sees every change once."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.service import create_service
from sidecar.errors import LockedError
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.seeds import draw_seed
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers

DOCUMENTS = 40


@dataclass(frozen=True)
class Site:
    """Servers of a test, and topics of its agents."""

    documents: Any
    servers: MongoReplicaSet
    broker: KafkaBroker
    directory: Path
    prefix: str

    def agent(self, name: str = "agent", **properties: Any) -> RunningAgent:
        named = {
            "topic.prefix": self.prefix,
            "sink": "kafka",
            "position.store": "kafka",
            "position.commit.interval.ms": "20",
            "topic.creation.enable": "true",
            "kafka.producer.bootstrap.servers": self.broker.bootstrap,
            "kafka.producer.reconnect.backoff.max.ms": "500",
            "snapshot.mode": "initial",
        }
        string = self.servers.connection_string
        agent = RunningAgent(self.directory / name, string, named, **properties)
        agent.service = create_service(agent.configuration())
        return agent

    def committed(self) -> list[tuple[Any, str | None]]:
        """Key and operation of each event, as a read-committed consumer sees them."""
        topic = f"{self.prefix}.shop.a"
        if topic not in self.broker.topics():
            return []
        return [
            (
                json.loads(json.loads(record.key or b"")["id"]),
                None if record.value is None else json.loads(record.value)["op"],
            )
            for record in self.broker.consume_all(topic)
        ]

    def insert(self, agent: RunningAgent, key: object) -> None:
        """Insert a document and wait until its event is committed."""
        self.documents.insert_one({"_id": key})
        agent.wait_until(lambda: (key, "c") in self.committed(), f"{key} to be committed")


def message(agent: RunningAgent) -> str:
    return agent.service.status.ready().message


@contextmanager
def site_at(broker: KafkaBroker, directory: Path, prefix: str) -> Iterator[Site]:
    with MongoReplicaSet() as servers, Client(servers.connection_string) as client:
        yield Site(client.shop.a, servers, broker, directory, prefix)


@pytest.fixture
def site(broker: KafkaBroker, tmp_path: Path, topic_prefix: str) -> Iterator[Site]:
    with site_at(broker, tmp_path, topic_prefix) as found:
        yield found


def test_agent_and_broker_kills_repeat_no_change(tmp_path: Path) -> None:
    """Copied and changed documents; an agent that stops without time to finish; a separate broker
    that is killed and restarted while the next agent waits."""
    seed = draw_seed()
    chance = random.Random(seed)
    with (
        KafkaBroker(tmp_path / "kafka", heap_mib=256) as broker,
        site_at(broker, tmp_path, "p") as site,
    ):
        site.documents.insert_many([{"_id": f"copied {number}"} for number in range(DOCUMENTS)])
        for life in range(3):
            with site.agent(shutdown_timeout_ms="0") as agent:
                if not broker.is_running:
                    agent.wait_until(lambda: "Kafka" in message(agent), "an agent that waits")
                    broker.start()
                agent.wait_until(lambda: agent.has_begun, "the stream")
                for number in range(DOCUMENTS):
                    site.documents.insert_one({"_id": f"{life} {number}"})
                    site.documents.delete_one({"_id": f"{life} {number}"})
                    if chance.random() < 0.05:
                        agent.wait_until(lambda: bool(site.committed()), "a commit")
                if life == 1:
                    broker.kill()
        with site.agent() as agent:
            agent.wait_until(lambda: agent.has_begun, "the stream")
            site.insert(agent, "end")
            agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copy")
        committed = site.committed()
    expected: dict[Any, list[str | None]] = {
        f"copied {number}": ["r"] for number in range(DOCUMENTS)
    }
    for life in range(3):
        expected |= {f"{life} {number}": ["c", "d", None] for number in range(DOCUMENTS)}
    seen: dict[Any, list[str | None]] = {}
    for key, operation in committed:
        seen.setdefault(key, []).append(operation)
    for operations in seen.values():
        if operations[:2] == ["c", "r"]:  # The snapshot read the document while it existed.
            del operations[1]
    assert seen == expected | {"end": ["c"]}


def test_second_agent_of_a_name_fences_the_first(site: Site) -> None:
    first, second = site.agent("first"), site.agent("second")
    with first:
        first.wait_until_streaming()
        site.insert(first, 1)
        with second:
            second.wait_until_streaming()
            site.insert(second, 2)
            error = first.wait_until_ended()
            assert isinstance(error, LockedError)
            assert error.exit_code == 3
            assert f"cdc-sidecar-{site.prefix} took over" in str(error)
    assert site.committed() == [(1, "c"), (2, "c")]


def test_kafka_position_continues_from_the_offset_file(site: Site) -> None:
    """The first run stored its position in a file; a change during the pause is delivered once."""
    with site.agent(snapshot_mode="no_data", position_store="file").streaming() as agent:
        site.insert(agent, 0)
    site.documents.insert_one({"_id": "pause"})
    with site.agent(snapshot_mode="no_data").streaming() as agent:
        site.insert(agent, 1)
    assert site.committed() == [(0, "c"), ("pause", "c"), (1, "c")]
