"""Snapshots of a server with the profile of Amazon DocumentDB 5.0: ranges of `_id` as conditions,
no reads at a cluster time, no no-ops without writes."""

import json
import random
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import PyMongoError

from mongo_agent.documents import ClusterTime
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.settings import SnapshotSettings
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client, write_through_election
from tests.support.sinks.memory_sink import MemorySink

SMALL_CHUNKS = {"incremental.snapshot.chunk.size": 4, "snapshot.max.threads": 2}
SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 4))]
)


@pytest.fixture
def documentdb() -> Iterator[MongoReplicaSet]:
    started = MongoReplicaSet(
        members=2, version="5.0.0", is_documentdb=True, noop_interval_s=24 * 3600
    )
    with started:
        yield started


@pytest.fixture
def writer(documentdb: MongoReplicaSet) -> Iterator[Client]:
    with Client(documentdb.connection_string) as client:
        client.admin.command("modifyChangeStreams", 1, database="", collection="", enable=True)
        yield client


def run_agent(
    tmp_path: Path, documentdb: MongoReplicaSet, sink: MemorySink | None = None, **properties: Any
) -> RunningAgent:
    string = documentdb.connection_string
    return RunningAgent(tmp_path / "offsets", string, SMALL_CHUNKS, sink=sink, **properties)


def wait_for_end(agent: RunningAgent) -> None:
    agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the snapshot")


def of_index(client: Client, limit: int) -> tuple[CollectionReader, CollectionSnapshot]:
    settings = SnapshotSettings(chunk_size=limit, has_index_bounds=False)
    return CollectionReader(client, settings), CollectionSnapshot(
        1, "shop", "a", SnapshotReason.INITIAL
    )


def test_read_behind_the_stream_is_an_error(writer: Client) -> None:
    """Possible for a moment after an election."""
    writer.shop.a.insert_one({"_id": 1})
    reader, snapshot = of_index(writer, 4)
    with pytest.raises(PyMongoError, match="is before the stream's"):
        reader.read_since(snapshot, Chunk(None, None), ClusterTime(2**31, 1))


@pytest.mark.parametrize("mode", ["initial", "initial_only"])
def test_documentdb_snapshot_of_quiet_collection_completes(
    tmp_path: Path, documentdb: MongoReplicaSet, writer: Client, mode: str
) -> None:
    """There are no writes meanwhile, and the server has no no-ops."""
    writer.shop.a.insert_many([{"_id": number} for number in range(20)])
    writer.shop.b.insert_many([{"_id": name} for name in "abc"])
    with run_agent(tmp_path, documentdb, snapshot_mode=mode) as agent:
        copied = agent.wait_for(23)
        if mode == "initial":
            wait_for_end(agent)
            writer.shop.a.insert_one({"_id": 20})
            assert agent.wait_for(24)[-1].kind == "insert"
        else:
            agent.wait_until_ended()
    assert {each.kind for each in copied} == {"read"}
    assert sorted(str(each.id) for each in copied) == sorted([*map(str, range(20)), *"abc"])


def test_documentdb_snapshot_signal_applies_its_filter(
    tmp_path: Path, documentdb: MongoReplicaSet, writer: Client
) -> None:
    writer.shop.a.insert_many([{"_id": number, "n": number % 2} for number in range(20)])
    with run_agent(tmp_path, documentdb).streaming() as agent:
        named = {"data-collection": "shop.a", "filter": '{"n": 1}'}
        data = {"data-collections": ["shop.a"], "additional-conditions": [named]}
        signal = json.dumps({"type": "execute-snapshot", "data": data}).encode()
        request = urllib.request.Request(
            f"{agent.url}/signals", signal, {"Content-Type": "application/json"}
        )
        assert urllib.request.urlopen(request).status == 202
        assert sorted(each.id for each in agent.wait_for(10)) == list(range(1, 20, 2))
        wait_for_end(agent)


@SEEDS
def test_documentdb_snapshot_under_load_loses_no_version(
    tmp_path: Path, documentdb: MongoReplicaSet, writer: Client, seed: int
) -> None:
    """Writes continue during snapshots that restarts and an election interrupt. Each document ends
    in its last state; its versions only increase within one run."""
    chance = random.Random(seed)
    print(f"seed {seed}")
    names: list[Any] = [*range(30), *"abcdefghijklmnopqrst", *(None, True, 2.5)]
    versions = {repr(name): 0 for name in names}
    writer.shop.a.insert_many([{"_id": name, "n": 0} for name in names])
    stopped = threading.Event()

    def write() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            name = chance.choice(names)
            document = {"_id": name, "n": number}
            replace = partial(writer.shop.a.replace_one, {"_id": name}, document, upsert=True)
            write_through_election(replace, f"version {number}")
            versions[repr(name)] = number

    load = threading.Thread(target=write)
    load.start()
    runs = []
    try:
        for run in range(3):
            sink = MemorySink()
            with run_agent(tmp_path, documentdb, sink, snapshot_mode="initial") as agent:
                agent.wait_for(20)
                if run == 1:
                    documentdb.step_down()
                if run == 2:
                    wait_for_end(agent)
                    stopped.set()
                    load.join()
                    writer.shop.a.insert_one({"_id": "last", "n": -1})
                    agent.wait_until(lambda: agent.published[-1].id == "last", "the last event")
            runs.append(agent.published)
    finally:
        stopped.set()
        load.join()
    last: dict[str, int] = {}
    for published in runs:
        seen: dict[str, list[int]] = defaultdict(list)
        for each in published:
            seen[repr(each.after["_id"])].append(_number(each.after["n"]))
        for name, numbers in seen.items():
            assert numbers == sorted(numbers), name
            last[name] = numbers[-1]
    del last[repr("last")]
    assert last == versions


def _number(value: Any) -> int:
    return int(value["$numberLong"]) if isinstance(value, dict) else int(value)
