"""Document states in records, and the report when topic and collection differ."""

from collections.abc import Mapping
from typing import Any

import bson
import orjson
import pytest
from bson import Int64, Timestamp

from mongo_agent.compare.comparison import TopicState, compare_collection
from mongo_agent.documents import ABSENT, UNKNOWN, ClusterTime, DocumentState, document_state
from tests.support.mongodb import encodings
from tests.support.mongodb.encodings import encoder

SINCE = ClusterTime(100, 1)
KEY = b'{"id":"1"}'
DOCUMENT = {"_id": 1, "n": Int64(7)}
# Events in the server's format; a high-water mark of their time serves as the token.
TOKEN = {"_data": f"82{90:08X}{3:08X}2B0229296E04"}


def event(operation: str, **more: Any) -> bytes:
    return bson.encode(
        {
            "_id": TOKEN,
            "operationType": operation,
            "clusterTime": Timestamp(90, 3),
            "ns": {"db": "shop", "coll": "a.b"},
            "documentKey": {"_id": 1},
            **more,
        }
    )


def said(raw: bytes, layout: Any = "debezium-3") -> list[DocumentState | None]:
    batch = encoder(layout).encode([raw])
    return [
        document_state(value, headers) for _, _, value, headers, _ in batch.messages(0, len(batch))
    ]


def copied(document: Mapping[str, Any], layout: Any = "debezium-3") -> DocumentState:
    batch = encodings.copied(encoder(layout), document, collection="a.b")
    ((_, _, value, headers, _),) = batch.messages(0, 1)
    found = document_state(value, headers)
    assert found is not None
    return found


@pytest.mark.parametrize("layout", ["debezium-3", "debezium-2.1", "debezium-1.x", "mongodb"])
def test_snapshot_and_insert_yield_same_document_state(layout: str) -> None:
    (inserted,) = said(event("insert", fullDocument=DOCUMENT), layout)
    read = copied(DOCUMENT, layout)
    assert inserted == DocumentState("shop.a.b", read.state, ClusterTime(90, 3))
    assert read.changed_at is None
    assert read.state != copied({**DOCUMENT, "n": Int64(8)}, layout).state


@pytest.mark.parametrize("layout", ["debezium-3", "mongodb"])
def test_document_state_after_delete_and_update_without_document(layout: str) -> None:
    deleted, tombstone = said(event("delete"), layout)
    assert deleted == DocumentState("shop.a.b", ABSENT, ClusterTime(90, 3))
    assert tombstone is None
    changes: dict[str, Any] = {"updatedFields": {"n": 1}, "removedFields": []}
    (updated,) = said(event("update", updateDescription=changes), layout)
    assert updated is not None
    assert updated.state == UNKNOWN
    raw = bson.decode(event("drop"))
    del raw["documentKey"]
    assert all(each is None for each in said(bson.encode(raw), layout))


def test_debezium_record_yields_state_without_time() -> None:
    """The record may contain its schema next to the payload."""
    value = {
        "after": '{"_id": 1,"n": {"$numberLong": "7"}}',
        "source": {"db": "shop", "collection": "a.b"},
        "op": "c",
    }
    expected = DocumentState("shop.a.b", copied(DOCUMENT).state)
    for wrapped in (value, {"schema": {}, "payload": value}):
        assert document_state(orjson.dumps(wrapped), ()) == expected
    assert document_state(orjson.dumps({"status": "BEGIN"}), ()) is None
    with pytest.raises(ValueError, match="unexpected"):
        document_state(b"\0\0\0\0\1x", ())


def topic(*records: tuple[bytes, DocumentState]) -> TopicState:
    found = TopicState(SINCE)
    for key, record in records:
        found.record(key, record)
    return found


def test_last_record_of_document_counts() -> None:
    records = topic((KEY, DocumentState("a", b"old")), (KEY, DocumentState("a", b"new")))
    assert compare_collection("a", {KEY: b"new"}, records).is_equal
    different = compare_collection("a", {KEY: b"old"}, records)
    assert different.different == 1
    assert different.messages == ('a: 1 documents differ in the topic: {"id":"1"}',)


def test_compare_finds_documents_missing_on_either_side() -> None:
    records = topic(
        (b"1", DocumentState("a", b"x")),
        (b"2", DocumentState("a", ABSENT)),
        (b"3", DocumentState("a", UNKNOWN)),
    )
    found = compare_collection("a", {b"2": b"x", b"3": b"x", b"4": b"x"}, records)
    assert (found.documents, found.equal, found.without_content) == (3, 0, 1)
    assert (found.missing, found.surplus) == (2, 1)
    assert found.messages == (
        "a: 2 documents are not in the topic: 2, 4",
        "a: 1 documents are only in the topic: 1",
    )
    many = compare_collection("a", {bytes([each]): b"x" for each in range(65, 75)}, topic())
    assert many.messages == ("a: 10 documents are not in the topic: A, B, C, D, E, …",)


def test_documents_changed_during_compare_are_only_counted() -> None:
    late = ClusterTime(100, 2)
    records = topic(
        (b"1", DocumentState("a", b"old", SINCE)),
        (b"1", DocumentState("a", b"new", late)),
        (b"2", DocumentState("a", ABSENT, late)),
        (b"3", DocumentState("a", b"new", late)),
    )
    found = compare_collection("a", {b"1": b"old", b"2": b"old"}, records)
    assert (found.changing, found.is_equal) == (3, True)
