"""Documents change and disappear during a snapshot: the events of each start at one of its states,
skip no later state, and end with the last one; no document is missing.

There is a collection for each type of `_id`, and one with all types mixed.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bson import Timestamp

from mongo_agent.change_stream.position import CLUSTER
from mongo_agent.offsets import OFFSET_FILE
from mongo_agent.offsets.agent_offsets import parse_offsets
from sidecar.errors import SinkRestartError
from sidecar.offsets.properties_store import PropertiesStore
from tests.acceptance.mongo_kill.checks import Arrival, arrivals, broken_histories, repeats
from tests.acceptance.mongo_kill.workload import DATABASE, TYPES, Workload
from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.releases import Release
from tests.support.seeds import draw_seed
from tests.support.servers.kafka import KafkaRecord
from tests.support.sinks.memory_sink import MemorySink

DOCUMENTS = 600
ROUNDS = 15
KILLS = 3
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


@contextmanager
def filled(replica_set: MongoReplicaSet) -> Iterator[Workload]:
    seed = draw_seed()
    with Client(replica_set.connection_string) as client:
        found = Workload(client, Random(seed), ("mixed", *TYPES), TYPES)
        found.create()
        found.fill(DOCUMENTS)
        yield found


@pytest.fixture
def workload(replica_set: MongoReplicaSet) -> Iterator[Workload]:
    with filled(replica_set) as found:
        yield found


def message(agent: RunningAgent) -> str:
    """Message of `/health` about snapshots."""
    components = agent.service.status.health().components
    return next((each.message for each in components if each.name == "snapshot"), "")


def arrived(*agents: RunningAgent) -> list[Arrival]:
    messages = [message for agent in agents for _, message in agent.sink.messages]
    return list(
        arrivals(
            KafkaRecord(topic, 0, offset, key, value, tuple(headers), 0)
            for offset, (topic, key, value, headers, _) in enumerate(messages)
        )
    )


def copied_and_stored(agent: RunningAgent, replica_set: MongoReplicaSet) -> None:
    """Wait until every write is delivered."""
    agent.wait_until(
        lambda: not agent.is_snapshot_running and agent.has_begun, "the copies to be delivered"
    )
    last = replica_set.write_noop()
    replica_set.write_noop()
    agent.wait_until_stored(last)


def test_snapshot_under_load_breaks_no_document_history(
    tmp_path: Path, replica_set: MongoReplicaSet, workload: Workload
) -> None:
    with RunningAgent(tmp_path / "offsets", replica_set.connection_string, SETTINGS) as agent:
        for _ in range(ROUNDS):
            workload.write(20)
        copied_and_stored(agent, replica_set)
        found = arrived(agent)
    assert list(broken_histories(found, workload.histories)) == []
    assert repeats(found) == []
    reads = [arrival.place for arrival in found if arrival.kind == "read"]
    assert len(reads) == len(set(reads)) > 0
    assert {place.collection for place in reads} == {"mixed", *TYPES}


def test_snapshot_without_read_times_breaks_no_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Changes within the window of a chunk are left to their events, for every type of `_id`."""
    monkeypatch.setattr(Release, "has_snapshot_reads", False)
    with MongoReplicaSet(noop_interval_s=0.02) as replica_set, filled(replica_set) as workload:
        with RunningAgent(tmp_path / "offsets", replica_set.connection_string, SETTINGS) as agent:
            for _ in range(ROUNDS):
                workload.write(20)
            copied_and_stored(agent, replica_set)
            found = arrived(agent)
        assert list(broken_histories(found, workload.histories)) == []
    assert "the server does not read at a cluster time" in caplog.text
    reads = [arrival.place for arrival in found if arrival.kind == "read"]
    assert len(reads) == len(set(reads))
    assert {place.collection for place in reads} == {"mixed", *TYPES}


@pytest.mark.slow
def test_snapshot_resumes_after_kills(
    tmp_path: Path, replica_set: MongoReplicaSet, workload: Workload
) -> None:
    """The agent is a separate process that SIGKILL ends during the snapshot. Only published
    documents that were not stored are repeated."""
    published = tmp_path / "published.ndjson"
    agent = MongoAgentProcess(
        tmp_path / "agent",
        replica_set.connection_string,
        "p",
        {
            **SETTINGS,
            "inflight.max.events": 40,
            "incremental.snapshot.chunk.size": 5,
            "sink": "file",
            "file.path": published,
        },
    )
    unfinished = []
    with agent:
        for _ in range(KILLS):
            agent.launch()
            agent.wait_until_acknowledged(40)
            agent.kill()
            unfinished.append(remaining(agent.offsets))
            workload.write(20)
        agent.launch()
        last = replica_set.write_noop()
        replica_set.write_noop()
        agent.wait_until(lambda: is_stored(agent, last), "the end of the copies")
        agent.stop()
    print(f"collections that were left behind each kill: {unfinished}")
    assert all(unfinished)
    lines = [json.loads(line) for line in published.read_text().splitlines()]
    found = list(arrivals(record(offset, line) for offset, line in enumerate(lines)))
    assert list(broken_histories(found, workload.histories)) == []


def remaining(offsets: Path) -> int:
    """Number of collections without a complete snapshot in the stored offset."""
    values = PropertiesStore(offsets, OFFSET_FILE).load().values
    (stream,) = parse_offsets(values, values[CLUSTER]).streams.values()
    return len(stream.snapshot.collections) + len(stream.snapshot.requests)


def is_stored(agent: MongoAgentProcess, time: Timestamp) -> bool:
    """Whether all snapshots and all events up to a time are stored."""
    stored = (agent.ask("/offsets") or {}).get("stored", {})
    second, _, increment = stored.get("cluster.time", "0:0").partition(":")
    copy = (agent.ask("/health") or {}).get("components", {}).get("snapshot", {})
    return (int(second), int(increment)) > (time.time, time.inc) and not copy.get(
        "is_running", True
    )


def record(offset: int, line: dict[str, Any]) -> KafkaRecord:
    """Line of the file sink as a record."""
    key, value = json.dumps(line["key"]).encode(), line["value"]
    encoded = None if value is None else json.dumps(value).encode()
    headers = tuple((name, text.encode()) for name, text in line["headers"].items())
    return KafkaRecord(line["topic"], 0, offset, key, encoded, headers, 0)


def test_snapshot_resumes_after_sink_failures_and_a_restart(
    tmp_path: Path, replica_set: MongoReplicaSet, workload: Workload
) -> None:
    """The sink fails repeatedly, and the agent is stopped in the middle."""
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


def test_snapshot_runs_until_its_end_is_stored(
    tmp_path: Path, replica_set: MongoReplicaSet
) -> None:
    """Otherwise a kill after an ok status would repeat the snapshot."""
    with Client(replica_set.connection_string) as client:
        client[DATABASE].a.insert_many([{"_id": number} for number in range(5)])
    directory, sink = tmp_path / "offsets", MemorySink(automatic=False)
    with RunningAgent(directory, replica_set.connection_string, SETTINGS, sink=sink) as agent:
        agent.wait_for(5)
        agent.wait_until(
            lambda: message(agent) == "the end of the snapshot is not stored yet", "its last chunk"
        )
        assert agent.is_snapshot_running
        assert remaining(directory)
        sink.automatic = True
        sink.acknowledge()
        agent.wait_until(lambda: not agent.is_snapshot_running, "the stored end")
        assert not remaining(directory)
