"""Chunks of generated collections on generated clusters while documents appear and disappear:
remaining documents are read once, and at least once by a restarted agent. `COLLECTIONS=100000`
generates so many."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import bson
import pytest
from bson import (
    Binary,
    Code,
    CodecOptions,
    DatetimeMS,
    Decimal128,
    Int64,
    MaxKey,
    MinKey,
    ObjectId,
    Timestamp,
)
from bson.codec_options import DatetimeConversion
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo import MongoClient

from mongo_agent.documents import NEVER, ClusterTime
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import CollectionSnapshot, SnapshotReason, SnapshotRequest
from mongo_agent.snapshot.settings import SnapshotSettings
from tests.support.mongodb.given_streams import selected_collection
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.key_string import order

SHARDS = 3
COLLECTION = "orders"
IDS: tuple[Any, ...] = (
    MinKey(),
    None,
    float("nan"),
    Decimal128("NaN"),
    float("-inf"),
    -1,
    *range(6),
    1.0,
    Int64(2),
    Decimal128("3"),
    2.5,
    Decimal128("9007199254740993"),
    Decimal128("9007199254740993.5"),
    "",
    *"abc",
    {},
    {"a": 1},
    {"a": 1.0},
    Binary(b""),
    Binary(b"a", 5),
    ObjectId(bytes(12)),
    False,
    True,
    DatetimeMS(-(2**63)),
    datetime(2020, 1, 1, tzinfo=UTC),
    Timestamp(0, 0),
    Timestamp(9, 9),
    Code("f"),
    MaxKey(),
)
WITHOUT_RANGE = (Code,)
"""Types that no condition can compare, for servers without index bounds."""
_CODEC = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_MS)

Key = tuple[int, bytes]
"""Region, which is the shard key, and position of an `_id`."""


@dataclass(frozen=True)
class Server:
    """Has one region per shard."""

    client: Client
    server: Any
    regions: int = 1
    has_bounds: bool = True
    collection: str = COLLECTION
    hint: str = "_id_"

    def behave(self, plan: "Plan") -> None:
        self.server._deployment.order.seed(plan.seed)
        self.server._deployment.rounds_decimals = plan.rounds_decimals


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with (
        MongoShardedCluster(SHARDS, noop_interval_s=3600) as cluster,
        MongoReplicaSet() as replica_set,
        MongoReplicaSet(version="5.0.0", is_documentdb=True) as documentdb,
        MongoClient[Any](cluster.connection_string) as router,
        MongoClient[Any](replica_set.connection_string) as member,
        MongoClient[Any](documentdb.connection_string) as service,
    ):
        router.admin.command("shardCollection", f"shop.{COLLECTION}", key={"region": 1})
        router.admin.command("shardCollection", "shop.hashed", key={"_id": "hashed"})
        index = {"key": {"_id": 1}, "unique": True, "name": "by_id"}
        member.shop.create_collection("clustered", clusteredIndex=index)
        member.shop.create_collection("folded", collation={"locale": "en", "strength": 2})
        yield {
            "cluster": Server(router, cluster, SHARDS),
            "hashed": Server(router, cluster, collection="hashed"),
            "replica set": Server(member, replica_set),
            "clustered": Server(member, replica_set, collection="clustered", hint="by_id"),
            "folded": Server(member, replica_set, collection="folded"),
            "DocumentDB": Server(service, documentdb, has_bounds=False),
        }


REGIONS = (3, 0, 6)
"""Each is on its own shard, by the checksum of the test server."""


@dataclass(frozen=True)
class Plan:
    """Initial documents, and documents that appear and disappear between reads."""

    server: str
    staying: frozenset[tuple[int, int]]
    passing: tuple[tuple[int, int], ...]
    chunk_size: int
    chunk_bytes: int
    fetch_size: int
    seed: int
    restarts: bool
    rounds_decimals: bool = False


_PLACES = st.tuples(st.integers(0, SHARDS - 1), st.integers(0, len(IDS) - 1))
PLANS = st.builds(
    Plan,
    st.sampled_from(["cluster", "hashed", "replica set", "clustered", "folded", "DocumentDB"]),
    st.frozensets(_PLACES, max_size=40),
    st.lists(_PLACES, max_size=6).map(tuple),
    st.integers(1, 5),
    st.sampled_from([1, 100, 1 << 20]),
    st.sampled_from([0, 1, 2]),
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
)


def selected(server: Server) -> SnapshotProgress:
    request = SnapshotRequest(SnapshotReason.SIGNAL)
    chosen = selected_collection(request, server.collection, hint=server.hint)
    return SnapshotProgress().requested(request).resolved(request, [chosen])


def key_of(raw: bytes) -> Key:
    document = bson.decode(raw, _CODEC)
    return document["region"], order(document["_id"])


def copied(server: Server, plan: Plan, change: Iterator[None]) -> Counter[Key]:
    """Documents that a snapshot reads, with a change after each step."""
    chance = random.Random(plan.seed)
    reader = CollectionReader(
        server.client,
        SnapshotSettings(
            chunk_size=plan.chunk_size,
            chunk_bytes=plan.chunk_bytes,
            fetch_size=plan.fetch_size,
            has_index_bounds=server.has_bounds,
        ),
    )
    progress = stored = selected(server)
    found: Counter[Key] = Counter()
    is_restarted = not plan.restarts
    for step in range(1000):
        if progress.is_idle:
            return found
        if not is_restarted and step > 2 and chance.random() < 0.2:
            progress = SnapshotProgress.from_json(stored.to_json())
            is_restarted = True
        (snapshot,) = progress.collections
        if not snapshot.is_planned and (not snapshot.chunks or chance.random() < 0.5):
            bounds = reader.find_bounds(snapshot, chance.randint(1, 3))
            progress = progress.planned(snapshot.number, bounds.bounds, is_whole=bounds.is_whole)
        else:
            progress = _read(reader, snapshot, progress, found, chance)
        if chance.random() < 0.5:
            stored = progress
        next(change, None)
    raise AssertionError(f"the copy does not end: {progress}")


def _read(
    reader: CollectionReader,
    snapshot: CollectionSnapshot,
    progress: SnapshotProgress,
    found: Counter[Key],
    chance: random.Random,
) -> SnapshotProgress:
    chunk = chance.choice(snapshot.chunks)
    is_exact = reader._settings.has_index_bounds and chance.random() < 0.5
    read = (reader.read_at if is_exact else reader.read_since)(
        snapshot, chunk, reader.cluster_time() if is_exact else NEVER
    )
    keys = [key_of(each) for each in read.documents]
    assert [place for _, place in keys] == sorted(place for _, place in keys)
    found.update(keys)
    return progress.delivered(snapshot.number, chunk, len(keys), read.rest_from)


def documents_of(server: Server, places: Any) -> dict[Key, dict[str, Any]]:
    """Documents by region and `_id`; equal `_id`s on one shard are one document."""
    made: dict[Key, dict[str, Any]] = {}
    for shard, number in sorted(places):
        region = REGIONS[shard % server.regions]
        if server.has_bounds or not isinstance(IDS[number], WITHOUT_RANGE):
            document = {"_id": IDS[number], "region": region, "text": "x" * 80}
            made.setdefault((region, order(IDS[number])), document)
    return made


@settings(
    max_examples=int(os.environ.get("COLLECTIONS", "200")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(PLANS)
def test_reader_returns_every_remaining_document(servers: dict[str, Server], plan: Plan) -> None:
    server = servers[plan.server]
    server.behave(plan)
    collection = server.client.shop[server.collection]
    collection.delete_many({})
    staying = documents_of(server, plan.staying)
    passing = documents_of(server, plan.passing)
    passing = {key: each for key, each in passing.items() if key not in staying}
    first = list(passing)[::2]
    present = [*staying.values(), *(passing[key] for key in first)]
    if present:
        collection.insert_many(present)
    else:
        collection.insert_one({"_id": 0, "region": 0})
        collection.delete_many({})

    def change() -> Iterator[None]:
        for key, document in passing.items():
            if key in first:
                collection.delete_one({"_id": document["_id"], "region": document["region"]})
            else:
                collection.insert_one(document)
            yield

    found = copied(server, plan, change())
    assert found.keys() >= staying.keys()
    assert found.keys() <= staying.keys() | passing.keys()
    if not plan.restarts:
        assert set(found.values()) <= {1}


def test_reader_time_is_not_before_the_collection_list() -> None:
    """The primary lists the collections, and a secondary may be behind. The agent would then
    attribute a rename to the listed collection."""
    with (
        MongoReplicaSet(2) as replica_set,
        Client(f"{replica_set.connection_string}&readPreference=secondary") as client,
        replica_set.lagging(replica_set.members[1]),
    ):
        time = replica_set.write_noop()
        reader = CollectionReader(client, SnapshotSettings())
        assert reader.cluster_time() >= ClusterTime(time.time, time.inc)


def alone(servers: dict[str, Server], plan: Plan) -> None:
    test_reader_returns_every_remaining_document.hypothesis.inner_test(servers, plan)  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", range(len(IDS)), ids=lambda number: repr(IDS[number]))
def test_id_of_any_type_can_be_a_bound(servers: dict[str, Server], number: int) -> None:
    """Each `_id` alone, on every shard, with the smallest chunks."""
    places = frozenset((shard, number) for shard in range(SHARDS))
    for name in servers:
        alone(servers, Plan(name, places, (), 1, 1, 1, 1, restarts=False))


@pytest.mark.parametrize("seed", range(4))
def test_equal_ids_of_other_number_types_are_read(servers: dict[str, Server], seed: int) -> None:
    """Such documents share one position in the order, and no range starts between them."""
    ones = [number for number, each in enumerate(IDS) if order(each) == order(1)]
    nans = [number for number, each in enumerate(IDS) if order(each) == order(float("nan"))]
    assert len(ones) == len(nans) == 2
    places = frozenset((shard, same[shard]) for same in (ones, nans) for shard in range(2))
    alone(servers, Plan("cluster", places, (), 5, 1, 0, seed, restarts=False))
