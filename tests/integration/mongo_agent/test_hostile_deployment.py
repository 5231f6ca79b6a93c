"""Deployments that change while the agent runs: no change is lost, the order is kept, and `/health`
recovers."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import Binary
from pymongo.errors import PyMongoError

from mongo_agent.change_stream.position import StreamPosition, opening, parse_position
from mongo_agent.change_stream.tokens import read_token
from mongo_agent.documents import ClusterTime
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.records import Chunk, CollectionSnapshot, SnapshotReason
from mongo_agent.snapshot.settings import SnapshotSettings
from tests.support.mongodb.running_agent import RunAgent, RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.client import Client

SMALL_CHUNKS: dict[str, Any] = {
    "snapshot_mode": "initial",
    "incremental_snapshot_chunk_size": 2,
    "snapshot_max_threads": 1,
    "connect_max_attempts": 100_000,
}
COUNT = 60


@pytest.fixture
def three_members() -> Iterator[MongoReplicaSet]:
    """Their cluster time advances continuously, as snapshots without a cluster time need."""
    with MongoReplicaSet(members=3, noop_interval_s=0.05) as started:
        yield started


def conditions(agent: RunningAgent) -> list[str]:
    return [each.code for each in agent.service.status.status().conditions]


def test_added_shard_is_streamed(tmp_path: Path) -> None:
    with (
        MongoShardedCluster() as cluster,
        Client(cluster.connection_string) as router,
        RunningAgent(tmp_path / "offsets", cluster.connection_string) as agent,
    ):
        router.admin.command("shardCollection", "shop.orders", key={"region": 1})
        agent.wait_until_streaming()
        for number in range(10):
            router.shop.orders.insert_one({"_id": number, "region": number})
        agent.wait_for(10)
        cluster.add_shard()
        for number in range(10, 40):
            router.shop.orders.insert_one({"_id": number, "region": number})
        assert [each.id for each in agent.wait_for(40)] == list(range(40))
        assert conditions(agent) == []


def test_server_that_ignores_bounds_is_an_error(writer: Client) -> None:
    """The tests' server ignores them with another index. A snapshot would never end."""
    writer.shop.a.create_index("n", name="other")
    writer.shop.a.insert_many([{"_id": number} for number in range(9)])
    reader = CollectionReader(writer, SnapshotSettings(chunk_size=2))
    snapshot = CollectionSnapshot(1, "shop", "a", SnapshotReason.INITIAL, hint="other")
    with pytest.raises(PyMongoError, match="ignores `min` with the hint other in shop"):
        reader.find_bounds(snapshot, 5)
    bound = bson.encode({"_id": 4})
    with pytest.raises(PyMongoError, match="ignores `min`"):
        reader.read_since(snapshot, Chunk(bound, None), ClusterTime(1, 1))


@pytest.mark.slow
def test_snapshot_and_stream_survive_elections(
    three_members: MongoReplicaSet, writer: Client, run_agent: RunAgent
) -> None:
    writer.shop.a.insert_many([{"_id": number} for number in range(COUNT)])
    with run_agent(**SMALL_CHUNKS) as agent:
        for elections in range(1, 4):
            agent.wait_for(elections * 6)
            three_members.step_down()
            # The new client knows no member, so it does not query the old primary.
            with Client(three_members.connection_string) as fresh:
                fresh.shop.b.insert_one({"_id": elections})
        agent.wait_until(lambda: not agent.is_snapshot_running, "the end of the snapshot")
        published = agent.wait_for(COUNT + 3)
        copied = [each.id for each in published if each.topic == "p.shop.a"]
        assert sorted(set(copied)) == list(range(COUNT))
        assert list(dict.fromkeys(copied)) == list(range(COUNT))
        streamed = [each.id for each in published if each.topic == "p.shop.b"]
        assert list(dict.fromkeys(streamed)) == [1, 2, 3]
        agent.wait_until(lambda: conditions(agent) == [], "a green health")


def test_agent_clock_set_back_loses_no_change(
    writer: Client, run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cluster times only increase."""
    with run_agent().streaming() as agent:
        for number in range(3):
            writer.shop.a.insert_one({"_id": number})
        agent.wait_for(3)
        actual = time.time
        monkeypatch.setattr(time, "time", lambda: actual() - 86_400)
        monkeypatch.setattr(time, "time_ns", lambda: int((actual() - 86_400) * 1e9))
        for number in range(3, 6):
            writer.shop.a.insert_one({"_id": number})
        assert [each.id for each in agent.wait_for(6)] == list(range(6))
        assert conditions(agent) == []
        assert b"cdc_lag_seconds -" not in agent.service.status.metrics()


@pytest.fixture
def servers_set_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet() as started:
        started.pass_time(86_400)
        started.write_noop()
        started.pass_time(-86_400)
        yield started


def test_server_clock_set_back_loses_no_change(
    tmp_path: Path, servers_set_back: MongoReplicaSet
) -> None:
    """Its cluster time keeps increasing, a day ahead of the agent."""
    uri = servers_set_back.connection_string
    with Client(uri) as client, RunningAgent(tmp_path / "offsets", uri).streaming() as agent:
        client.shop.a.insert_many([{"_id": number} for number in range(3)])
        assert [each.id for each in agent.wait_for(3)] == [0, 1, 2]
        assert conditions(agent) == []
    with Client(uri) as client, RunningAgent(tmp_path / "offsets", uri) as agent:
        client.shop.a.insert_one({"_id": 3})
        assert [each.id for each in agent.wait_for(1)] == [3]


@pytest.mark.parametrize(
    "token",
    [
        {"_data": "8263D2A4F6000000022B0229296E04"},
        {"_data": "8263D2A4F6000000022B042C0100296E5A1004"},
        {"_data": "8263D2A4F600000002465A1004", "_typeBits": b"\x82\x01"},
        {"_data": bytes.fromhex("8263D2A4F600000002465A1004"), "_typeBits": b"@"},
        {"_data": Binary(b"\x01\x02", 128)},
        {"_data": "0163d2a4f6opaque", "more": {"a": [1, None]}},
    ],
    ids=["v1 mark", "v2 event", "v0 with type bits", "binary", "opaque binary", "opaque"],
)
def test_token_of_any_format_is_stored_unchanged(token: dict[str, Any]) -> None:
    try:
        time = read_token(token).time
    except ValueError:
        time = ClusterTime(5, 1)
    stored = parse_position(StreamPosition(token, time, "f", "rs0").values(), "rs0")
    assert stored.token == token
    assert opening(stored, "f").start_after == token
    try:
        read_token(token)
    except ValueError:
        # Opaque tokens are tried, because the agent cannot compare events with them.
        assert opening(stored, "other").start_after == token
