"""Documents change and go while they are copied: what arrives of each begins at some state of it,
leaves out nothing that follows, and ends with the last one; and no document is missing."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pymongo import MongoClient

from sidecar.errors import SinkRestartError
from sidecar.sinks.memory import MemorySink
from tests.harness.kafka import KafkaRecord
from tests.harness.mongo import MongoReplicaSet
from tests.mongo_agent.kill.checks import Arrival, arrivals, broken_histories, repeats
from tests.mongo_agent.kill.workload import DATABASE, Workload
from tests.mongo_agent.running import RunningAgent

Client = MongoClient[dict[str, Any]]
DOCUMENTS = 400
ROUNDS = 15
SETTINGS: dict[str, object] = {
    "snapshot.mode": "initial",
    "snapshot.max.threads": 3,
    "incremental.snapshot.chunk.size": 10,
    "database.include.list": DATABASE,
    "capture.mode.full.update.type": "post_image",
    "max.batch.size": 20,
}


@pytest.fixture
def replica_set() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet() as started:
        yield started


@pytest.fixture
def workload(replica_set: MongoReplicaSet) -> Iterator[Workload]:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    with MongoClient[dict[str, Any]](replica_set.connection_string) as client:
        found = Workload(client, Random(seed), ("customers", "orders"))
        found.create()
        found.fill(DOCUMENTS)
        yield found


def arrived(*agents: RunningAgent) -> list[Arrival]:
    messages = [message for agent in agents for _, message in agent.sink.messages]
    return list(
        arrivals(
            KafkaRecord(topic, 0, offset, key, value, tuple(headers), 0)
            for offset, (topic, key, value, headers, _) in enumerate(messages)
        )
    )


def copied_and_stored(agent: RunningAgent, replica_set: MongoReplicaSet) -> None:
    """Waits until everything that is written is delivered."""
    agent.wait_until(lambda: not agent.is_copying and agent.has_begun, "the copies to be delivered")
    last = replica_set.write_noop()
    replica_set.write_noop()
    agent.wait_until_stored(last)


def test_every_document_is_there_and_none_runs_back(
    tmp_path: Path, replica_set: MongoReplicaSet, workload: Workload
) -> None:
    with RunningAgent(tmp_path / "offsets", replica_set.connection_string, SETTINGS) as agent:
        for _ in range(ROUNDS):
            workload.write(20)
        copied_and_stored(agent, replica_set)
        found = arrived(agent)
    assert list(broken_histories(found, workload.histories)) == []
    assert repeats(found) == 0
    reads = [arrival.place for arrival in found if arrival.kind == "read"]
    assert len(reads) == len(set(reads)) > 0


def test_a_copy_goes_on_behind_a_restart(
    tmp_path: Path, replica_set: MongoReplicaSet, workload: Workload
) -> None:
    """The sink fails again and again, and the agent is stopped in the middle."""
    sink = MemorySink(capacity=50)
    directory = tmp_path / "offsets"
    with RunningAgent(directory, replica_set.connection_string, SETTINGS, sink=sink) as first:
        for number in range(2):
            workload.write(15)
            first.wait_for(40 * (number + 1))
            sink.raise_next(SinkRestartError("the broker lost something"))
        first.wait_for(len(sink.messages) + 1)
    workload.write(20)
    with RunningAgent(directory, replica_set.connection_string, SETTINGS) as second:
        workload.write(40)
        copied_and_stored(second, replica_set)
        found = arrived(first, second)
    assert list(broken_histories(found, workload.histories)) == []
