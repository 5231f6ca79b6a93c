"""The agent with its position in Kafka: who reads what is committed sees every change once."""

import json
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from mongo_agent.service import create_service
from sidecar.errors import LockedError
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

pytestmark = pytest.mark.servers

DOCUMENTS = 40


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(members=1) as started:
        yield started


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path / "kafka", heap_mib=256) as started:
        yield started


def agent_of(
    directory: Path, replica_set: MongoReplicaSet, broker: KafkaBroker, **properties: str
) -> RunningAgent:
    named = {
        "sink": "kafka",
        "position.store": "kafka",
        "position.commit.interval.ms": "20",
        "topic.creation.enable": "true",
        "kafka.producer.bootstrap.servers": broker.bootstrap,
        "kafka.producer.reconnect.backoff.max.ms": "500",
        "snapshot.mode": "initial",
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    agent = RunningAgent(directory, replica_set.connection_string, named)
    agent.service = create_service(agent.configuration())
    return agent


def committed(broker: KafkaBroker) -> list[tuple[Any, str | None]]:
    """Key and operation of each event, as a consumer of committed records sees them."""
    if "p.shop.a" not in broker.topics():
        return []
    return [
        (
            json.loads(json.loads(record.key or b"")["id"]),
            None if record.value is None else json.loads(record.value)["op"],
        )
        for record in broker.consume_all("p.shop.a")
    ]


def wait_until_begun(agent: RunningAgent) -> None:
    agent.wait_until(lambda: agent.has_begun, "the stream")


def wait_for_end(agent: RunningAgent, broker: KafkaBroker, end: str) -> None:
    agent.wait_until(lambda: (end, "c") in committed(broker), f"{end} to be committed")


def test_no_change_is_seen_twice_whatever_stops(
    tmp_path: Path, replica_set: MongoReplicaSet, broker: KafkaBroker
) -> None:
    """Copied and changed documents, an agent that is stopped in the middle without time to bring
    anything to an end, and a broker that is killed and comes back."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with MongoClient[Any](replica_set.connection_string) as client:
        documents = client.shop.a
        documents.insert_many([{"_id": f"copied {number}"} for number in range(DOCUMENTS)])
        for life in range(3):
            agent = agent_of(tmp_path / "agent", replica_set, broker, shutdown_timeout_ms="0")
            with agent:
                wait_until_begun(agent)
                for number in range(DOCUMENTS):
                    documents.insert_one({"_id": f"{life} {number}"})
                    documents.delete_one({"_id": f"{life} {number}"})
                    if chance.random() < 0.05:
                        agent.wait_until(lambda: bool(committed(broker)), "a commit")
                if life == 1:
                    broker.restart(clean=False)
        with agent_of(tmp_path / "agent", replica_set, broker) as agent:
            wait_until_begun(agent)
            documents.insert_one({"_id": "end"})
            wait_for_end(agent, broker, "end")
            agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the copy")
    expected: dict[Any, list[str | None]] = {
        f"copied {number}": ["r"] for number in range(DOCUMENTS)
    }
    for life in range(3):
        expected |= {f"{life} {number}": ["c", "d", None] for number in range(DOCUMENTS)}
    seen: dict[Any, list[str | None]] = {}
    for key, operation in committed(broker):
        seen.setdefault(key, []).append(operation)
    for operations in seen.values():
        if operations[:2] == ["c", "r"]:  # The copy came to its place while it was there.
            del operations[1]
    assert seen == expected | {"end": ["c"]}


def test_a_second_agent_of_the_name_shuts_out_the_first(
    tmp_path: Path, replica_set: MongoReplicaSet, broker: KafkaBroker
) -> None:
    first = agent_of(tmp_path / "first", replica_set, broker)
    second = agent_of(tmp_path / "second", replica_set, broker)
    with MongoClient[Any](replica_set.connection_string) as client, first:
        first.wait_until_streaming()
        client.shop.a.insert_one({"_id": 1})
        first.wait_until(lambda: (1, "c") in committed(broker), "the first event")
        with second:
            second.wait_until_streaming()
            client.shop.a.insert_one({"_id": 2})
            second.wait_until(lambda: (2, "c") in committed(broker), "the second event")
            error = first.wait_until_ended()
            assert isinstance(error, LockedError)
            assert error.exit_code == 3
            assert "cdc-sidecar-p took over" in str(error)
    assert committed(broker) == [(1, "c"), (2, "c")]


def test_an_agent_waits_for_the_broker_and_resumes_at_the_position_of_its_file(
    tmp_path: Path, replica_set: MongoReplicaSet, broker: KafkaBroker
) -> None:
    """Its first run had the position in a file; a change of the pause is delivered, once."""
    run = partial(agent_of, tmp_path / "agent", replica_set, broker, snapshot_mode="no_data")
    with MongoClient[Any](replica_set.connection_string) as client:
        with run(position_store="file") as agent:
            agent.wait_until_streaming()
            client.shop.a.insert_one({"_id": 0})
            agent.wait_until(lambda: committed(broker) == [(0, "c")], "the event")
        client.shop.a.insert_one({"_id": "pause"})
        broker.stop()
        agent = run()
        with agent:
            wait_until(lambda: not agent.service.status.ready().ok, "the agent")
            broker.start()
            agent.wait_until_streaming()
            client.shop.a.insert_one({"_id": 1})
            agent.wait_until(lambda: (1, "c") in committed(broker), "the event")
    assert committed(broker) == [(0, "c"), ("pause", "c"), (1, "c")]
