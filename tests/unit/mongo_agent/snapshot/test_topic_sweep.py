"""Keys of live documents in a topic."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo import MongoClient

from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoEncoder
from mongo_agent.snapshot.collection_reader import CollectionReader
from mongo_agent.snapshot.records import ReplacedCollection
from mongo_agent.snapshot.settings import SnapshotSettings
from mongo_agent.snapshot.topic_sweep import TopicSweep, _id_of, live_keys
from sidecar.errors import SidecarError
from sidecar.sinks.kafka.topics.reader import TopicRecord
from tests.support.mongodb.bson_documents import IDENTITIES, event
from tests.support.mongodb.encodings import encoder

ENTRY = ReplacedCollection("shop", "a", ClusterTime(1, 1), "dropped")
ENCODER = encoder()


def encoded(
    operation: str, identity: Any, collection: str = "a", making: MongoEncoder = ENCODER
) -> list[TopicRecord]:
    others = {"fullDocument": {"_id": identity}} if operation == "insert" else {}
    place = {"db": "shop", "coll": collection}
    batch = making.encode([event(operation, identity, ns=place, **others)])
    return [
        TopicRecord(key, value, headers)
        for _, key, value, headers, _ in batch.messages(0, len(batch))
    ]


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(["insert", "delete"]), st.integers(0, 9), st.sampled_from("ab")),
        max_size=30,
    ),
    most=st.integers(1, 10),
)
def test_topic_sweep_in_shares_finds_all_live_keys(
    changes: list[tuple[str, int, str]], most: int
) -> None:
    """The number of keys in memory does not matter."""
    records = [each for change in changes for each in encoded(*change)]
    live: set[int] = set()
    for operation, identity, collection in changes:
        if collection == "a":
            (live.add if operation == "insert" else live.discard)(identity)

    def read(database: str, collection: str) -> Iterator[TopicRecord]:
        assert (database, collection) == ("shop", "a")
        return iter(records)

    found = [key for keys in live_keys(read, ENTRY, most) for key in keys]
    assert sorted(found) == sorted(f'{{"id":"{each}"}}'.encode() for each in live)


def test_stop_ends_sweep_of_long_topic() -> None:
    reader = CollectionReader(MongoClient(connect=False), SnapshotSettings())
    record = TopicRecord(b"k", None, [])
    with ThreadPoolExecutor(1) as threads:
        sweep = TopicSweep(reader, ENCODER, lambda *_: repeat(record), threads.submit)
        sweep.settle([ENTRY])
        assert not sweep.is_ready
        sweep.close()


@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("identity", IDENTITIES, ids=repr)
def test_id_read_from_key_yields_same_key(identity: Any, schemas: bool) -> None:
    typed = dict.fromkeys(("key", "value"), "json_with_schema") if schemas else {}
    making = encoder(**typed)
    (inserted,) = encoded("insert", identity, making=making)
    assert inserted.key is not None
    (found,) = _id_of(inserted.key)
    assert encoded("delete", found, making=making)[0].key == inserted.key


@pytest.mark.parametrize("key", [b"", b"no JSON", b"[]", b'{"id":"{"}', b'{"other":"1"}', b'"x"'])
def test_key_without_id_is_skipped(key: bytes) -> None:
    assert list(_id_of(key)) == []


def test_non_json_topic_error_contains_remedy() -> None:
    record = TopicRecord(b"k", b"\x00\x00\x00\x00\x01", [])
    with pytest.raises(SidecarError, match=r"collection\.replaced\.policy=skip"):
        list(live_keys(lambda *_: [record], ENTRY))
