"""Messages for MongoDB's events as Python sees them: keys, headers, tombstones, rejections."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from bson import Int64

from mongo_agent.encoder import MongoBatch
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.encodings import AT_NS, copied, encoder

_DOCUMENT = {"_id": Int64(7), "n": "x"}


def test_message_contains_key_headers_and_value() -> None:
    batch = encoder().encode([event("insert", Int64(7), fullDocument=_DOCUMENT)], at_ns=AT_NS)
    [(topic, key, value, headers, partition_hash)] = batch.messages(0, 9)
    assert (topic, key) == ("L.shop.cust", b'{"id":"7"}')
    assert 0 <= partition_hash < 2**31
    names = [name for name, _ in headers]
    assert names == ["cdc.id", "cdc.source", "cdc.ts_us", "cdc.kind"]
    assert len(headers[0][1]) == 16
    assert [text for _, text in headers[1:]] == [
        b"a/rs0/1674749174.2/0",
        b"1674749174123000",
        b"insert",
    ]
    assert json.loads(value or b"")["ts_ns"] == AT_NS
    assert batch.counts == {("shop.cust", "insert"): 1}
    assert batch.last_write_ts_us == 1674749174123000


def test_json_lines_equal_messages() -> None:
    batch = encoder().encode([event("delete")])
    lines = [json.loads(line) for line in batch.ndjson(0, 2).splitlines()]
    assert lines[0]["key"] == {"id": "7"}
    assert lines[0]["value"]["op"] == "d"
    assert lines[1]["value"] is None
    assert lines[1]["headers"]["cdc.kind"] == "tombstone"


def test_kafka_arguments_equal_messages() -> None:
    batch = encoder().encode([event("delete")])

    def delivered() -> None: ...

    arguments = batch.produce_arguments(0, 2, {"L.shop.cust": 3}.get, delivered)
    _, key, value, headers, partition_hash = batch.messages(1, 2)[0]
    assert arguments[1] == (
        "L.shop.cust",
        value,
        key,
        partition_hash % 3,
        delivered,
        None,
        0,
        headers,
    )
    assert batch.produce_arguments(0, 2, dict[str, int]().get, delivered) == []


def test_memoryviews_are_encoded_like_bytes() -> None:
    raw = event("insert", fullDocument=_DOCUMENT)
    views = [memoryview(raw), memoryview(b"." + raw)[1:]]
    batch = encoder().encode([raw, *views], at_ns=AT_NS)
    first, *others = batch.messages(0, 3)
    assert all(other == first for other in others)


def test_invalid_encoder_arguments_are_rejected() -> None:
    with pytest.raises(ValueError, match=r'layout: "debezium-9" is not known'):
        encoder(layout="debezium-9")
    with pytest.raises(ValueError, match=r'document_json: "bson" is not known'):
        encoder(document_json="bson")
    with pytest.raises(ValueError, match=r'skipped_operations: "t" is not known'):
        encoder(skipped_operations={"t"})
    with pytest.raises((TypeError, BufferError)):
        encoder().encode(["text"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r'snapshot: "no" is not known'):
        copied(encoder(), snapshot="no")


def in_collection(name: str) -> bytes:
    return event("insert", ns={"db": "shop", "coll": name})


def test_collection_filter_is_called_once_per_collection() -> None:
    asked = []

    def captures(database: str, collection: str) -> bool:
        asked.append((database, collection))
        return collection == "cust"

    making = encoder(captures=captures)
    for _ in range(2):
        batch = making.encode([in_collection("cust"), in_collection("ü"), in_collection("cust")])
        assert len(batch) == 2
        assert batch.skipped == {"not captured": 1}
        assert batch.position_after(1) == 2
    assert asked == [("shop", "cust"), ("shop", "ü")]
    everything = copied(making, _DOCUMENT)
    assert len(everything) == 1


def test_error_of_collection_filter_is_raised() -> None:
    def captures(database: str, collection: str) -> bool:
        raise LookupError(f"{database}.{collection}")

    with pytest.raises(LookupError, match=r"shop\.cust"):
        encoder(captures=captures).encode([event("insert")])
    assert encoder(captures=captures).encode([]).position_after(0) == 0


def test_collection_filter_is_right_beyond_cache_size() -> None:
    """The encoder repeats calls for evicted collections."""
    names = [f"c{number}" for number in range(10_500)]
    making = encoder(captures=lambda _, collection: collection.endswith("7"))
    for _ in range(2):
        batch = making.encode([in_collection(name) for name in names])
        assert len(batch) == 1050
        assert batch.skipped == {"not captured": 9450}


def test_threads_share_encoder_with_collection_filter() -> None:
    names = [f"c{number}" for number in range(200)]
    making = encoder(captures=lambda _, collection: collection.endswith("7"))
    events = [in_collection(name) for name in names]
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(making.encode, [events] * 16))
    assert {len(batch) for batch in batches} == {20}


def test_event_ids_do_not_depend_on_batch() -> None:
    """Events of many sizes, hashed in parallel or one by one."""
    events = [
        event("delete" if number % 5 == 0 else "insert", number, fullDocument={"n": "x" * number})
        for number in range(0, 4000, 17)
    ]

    def ids(batch: MongoBatch) -> list[bytes]:
        return [dict(headers)["cdc.id"] for *_, headers, _ in batch.messages(0, len(batch))]

    together = ids(encoder().encode(events))
    assert together == [each for raw in events for each in ids(encoder().encode([raw]))]
    assert len(set(together)) == len(together)
