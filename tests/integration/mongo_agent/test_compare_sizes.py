"""`compare` with collections of many batches, read by the real driver, and topics that differ by
one record."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bson import Int64

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.check.connection_diagnostics import connect
from mongo_agent.compare.comparison import ComparedCollection
from mongo_agent.compare.topic_comparison import compare
from mongo_agent.documents import ClusterTime
from sidecar.offsets.properties_store import StoredOffsets
from sidecar.sinks.kafka.topics.reader import TopicRecord
from tests.support.mongodb import encodings
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.client import Client

Document = dict[str, Any]

# A batch of `compare` has 1,000 documents.
SIZES = (0, 1, 999, 1000, 1001, 2001)
TOPIC = "p.shop.orders"
FAR = ClusterTime(4_000_000_000, 1)


class Topic:
    """Replaces the broker: records of the only topic, and an offset far ahead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.records: list[TopicRecord] = []
        module = "mongo_agent.compare.topic_comparison"
        monkeypatch.setattr(f"{module}.existing_topics", lambda *_: {TOPIC: 1})
        monkeypatch.setattr(f"{module}.committed_records", lambda *_: iter(self.records))
        monkeypatch.setattr(f"{module}.load_offsets", self._offsets)

    @staticmethod
    def _offsets(_: object, deployment: Any) -> StoredOffsets:
        return StoredOffsets(StreamPosition({}, FAR, "f", deployment.cluster).values())


@pytest.fixture(scope="module")
def sharded() -> Iterator[MongoShardedCluster]:
    with MongoShardedCluster() as started:
        yield started


@pytest.fixture(params=["replica set", "mongos"])
def address(
    request: pytest.FixtureRequest, servers: MongoReplicaSet, sharded: MongoShardedCluster
) -> str:
    return (servers if request.param == "replica set" else sharded).connection_string


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    return Topic(monkeypatch)


def documents(size: int) -> list[Document]:
    return [
        {"_id": 2 * number, "region": number % 7, "n": Int64(number), "text": f"row {number}"}
        for number in range(size)
    ]


def fill(address: str, sharded: MongoShardedCluster, rows: list[Document]) -> None:
    with Client(address) as client:
        client.drop_database("shop")
        if address == sharded.connection_string:
            client.admin.command("shardCollection", "shop.orders", key={"region": 1})
        else:
            client.shop.create_collection("orders")
        if rows:
            client.shop.orders.insert_many(rows)
    if address == sharded.connection_string and len(rows) > 1:
        assert all(is_filled(shard) for shard in sharded.shards)


def is_filled(shard: MongoReplicaSet) -> bool:
    with Client(shard.connection_string) as client:
        return client.shop.orders.find_one() is not None


def records(rows: list[Document]) -> list[TopicRecord]:
    batch = encodings.copied(encodings.encoder(topic_prefix="p"), *rows, collection="orders")
    return [
        TopicRecord(key, value, headers)
        for _, key, value, headers, _ in batch.messages(0, len(batch))
    ]


def compared(folder: Path, address: str) -> ComparedCollection:
    config = RunningAgent(folder, address).configuration()
    with connect(config) as (client, deployment):
        (found,) = compare(client, config, deployment, (), wait_s=0)
    return found


def figures(found: ComparedCollection) -> Mapping[str, int]:
    names = ("documents", "equal", "different", "missing", "surplus", "changing", "without_content")
    return {name: number for name in names if (number := getattr(found, name))}


@pytest.mark.parametrize("size", SIZES)
def test_compare_finds_a_difference_in_any_batch(
    tmp_path: Path, address: str, sharded: MongoShardedCluster, topic: Topic, size: int
) -> None:
    rows = documents(size)
    fill(address, sharded, rows)
    whole = records(rows)
    all_equal = {"documents": size, "equal": size} if size else {}
    topic.records = whole
    found = compared(tmp_path, address)
    assert (figures(found), found.is_equal) == (all_equal, True)

    surplus = records([{"_id": 2 * place - 1} for place in sorted({0, size // 2, size})])
    for record in surplus:
        topic.records = [*whole, record]
        found = compared(tmp_path, address)
        assert figures(found) == {**all_equal, "surplus": 1}
        assert (record.key or b"").decode() in found.messages[0]

    for place in sorted({0, size // 2, size - 1}) if size else ():
        differing = records([{**rows[place], "text": "another"}])
        for kind, replaced in (("different", differing), ("missing", [])):
            topic.records = [*whole[:place], *replaced, *whole[place + 1 :]]
            found = compared(tmp_path, address)
            rest = {"equal": size - 1} if size > 1 else {}
            assert figures(found) == {"documents": size, **rest, kind: 1}
            assert (whole[place].key or b"").decode() in found.messages[0]
