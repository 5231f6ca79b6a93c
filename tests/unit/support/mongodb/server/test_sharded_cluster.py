"""A router and its shards, as pymongo sees them."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from tests.support.mongodb.server import MongoShardedCluster
from tests.support.mongodb.server.client import Client

REGIONS = ("north", "south", "east", "west", "middle")


@pytest.fixture
def cluster() -> Iterator[MongoShardedCluster]:
    with MongoShardedCluster() as started:
        yield started


@pytest.fixture
def router(cluster: MongoShardedCluster) -> Iterator[Client]:
    with Client(cluster.connection_string) as connected:
        connected.admin.command("shardCollection", "shop.orders", key={"region": 1})
        yield connected


def shard_client(cluster: MongoShardedCluster, number: int) -> Client:
    return Client(cluster.shards[number].connection_string)


def order(key: int) -> dict[str, Any]:
    return {"_id": key, "region": REGIONS[key % len(REGIONS)]}


def test_router_stream_merges_shard_events_in_order(
    cluster: MongoShardedCluster, router: Client
) -> None:
    with router.watch() as stream:
        for key in range(20):
            router.shop.orders.insert_one(order(key))
            router.shop.orders.update_one({"_id": key}, {"$set": {"n": key}})
        events = [stream.next() for _ in range(40)]
    keys = [event["documentKey"] for event in events]
    assert [key["_id"] for key in keys] == [key // 2 for key in range(40)]
    assert keys[0] == {"region": "north", "_id": 0}
    assert list(keys[0]) == ["region", "_id"]
    tokens = [event["_id"]["_data"] for event in events]
    assert tokens == sorted(tokens)
    # Every position is a resume point, also one that only a single shard knows.
    for number in range(0, 40, 7):
        with router.watch(resume_after=events[number]["_id"]) as stream:
            assert [stream.next() for _ in range(39 - number)] == events[number + 1 :]
    with shard_client(cluster, 0) as first, shard_client(cluster, 1) as second:
        parts = []
        for shard in (first, second):
            time = events[0]["clusterTime"]
            with shard.watch(start_at_operation_time=time, max_await_time_ms=1) as stream:
                part = []
                while (event := stream.try_next()) is not None:
                    part.append(event)
            parts.append(part)
    merged = sorted([*parts[0], *parts[1]], key=lambda event: str(event["_id"]["_data"]))
    assert merged == events
    assert all(parts)


def test_idle_shard_blocks_router_stream_until_noop() -> None:
    with (
        MongoShardedCluster(noop_interval_s=3600) as cluster,
        Client(cluster.connection_string) as router,
        router.watch(max_await_time_ms=1) as stream,
    ):
        router.shop.plain.insert_one({"_id": 1})
        assert stream.try_next() is None
        cluster.shards[1].write_noop()
        assert stream.next()["documentKey"] == {"_id": 1}


@pytest.mark.parametrize(("version", "is_shown"), [("8.0.4", False), ("8.2.11", True)])
def test_events_over_several_shards_have_commit_time(version: str, is_shown: bool) -> None:
    started = MongoShardedCluster(version=version)
    with started as cluster, Client(cluster.connection_string) as router:
        router.admin.command("shardCollection", "shop.orders", key={"region": 1})
        with router.watch(show_expanded_events=True) as stream, router.start_session() as session:
            for keys in ([0], [1, 2, 3, 4]):
                with session.start_transaction():
                    for key in keys:
                        router.shop.orders.insert_one(order(key), session=session)
            found = ["commitTimestamp" in stream.next() for _ in range(5)]
    assert found == [False, *[is_shown] * 4]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("6.0.13", ["reshardBegin"]),
        ("6.0.14", ["reshardBegin", "reshardCollection"]),
        ("8.0.4", ["reshardBegin", "reshardCollection"] * 3),
    ],
)
def test_resharding_keeps_documents_and_replaces_collection(version: str, kinds: list[str]) -> None:
    """As `reshard_collection_event_provenance.js` among the server's own tests expects."""
    is_of_8 = len(kinds) == 6
    with (
        MongoShardedCluster(version=version) as cluster,
        Client(cluster.connection_string) as router,
    ):
        router.admin.command("shardCollection", "shop.orders", key={"region": 1})
        router.shop.orders.insert_many([order(key) for key in range(9)])
        with router.shop.watch(show_expanded_events=True) as stream:
            router.admin.command("reshardCollection", "shop.orders", key={"n": 1})
            if is_of_8:
                router.admin.command("unshardCollection", "shop.orders", toShard="shard1")
                router.admin.command("moveCollection", "shop.orders", toShard="shard0")
            else:
                with pytest.raises(OperationFailure, match="no such command"):
                    router.admin.command("moveCollection", "shop.orders", toShard="shard0")
            router.shop.orders.insert_one({**order(9), "n": 3})
            *found, last = [stream.next() for _ in range(len(kinds) + 1)]
        assert [event["operationType"] for event in found] == kinds
        assert last["documentKey"] == ({"_id": 9} if is_of_8 else {"n": 3, "_id": 9})
        ends = [event for event in found if "operationDescription" in event]
        details = [event["operationDescription"] for event in ends]
        commands = ["reshardCollection", "unshardCollection", "moveCollection"]
        wanted = commands if is_of_8 else [None] * len(ends)
        assert [each.get("provenance") for each in details] == wanted
        uuids = [each["reshardUUID"] for each in details]
        assert [event["collectionUUID"] for event in ends[1:]] == uuids[:-1]
        assert {each["_id"] for each in router.shop.orders.find()} == set(range(10))
        before = {"level": "snapshot", "atClusterTime": found[0]["clusterTime"]}
        with pytest.raises(OperationFailure) as refused:
            router.shop.command("find", "orders", readConcern=before)
        assert refused.value.code == 246


def test_transaction_over_several_shards_is_one(
    cluster: MongoShardedCluster, router: Client
) -> None:
    with router.watch() as stream, router.start_session() as session:
        with session.start_transaction():
            for key in range(5):
                router.shop.orders.insert_one(order(key), session=session)
        router.shop.orders.insert_one(order(5))
        events = [stream.next() for _ in range(6)]
    assert len({event["clusterTime"] for event in events[:5]}) == 1
    assert {event["txnNumber"] for event in events[:5]} == {events[0]["txnNumber"]}
    assert sorted(event["documentKey"]["_id"] for event in events[:5]) == list(range(5))
    assert "txnNumber" not in events[5]
    for number in range(5):
        with router.watch(resume_after=events[number]["_id"]) as stream:
            assert [stream.next() for _ in range(5 - number)] == events[number + 1 :]
