"""The layout of Debezium 1.x: patches and filters rebuilt from change events."""

import json
import uuid
from functools import partial
from typing import Any

import pytest
from bson import Binary, Int64

from tests.support.mongodb import encodings
from tests.support.mongodb.bson_documents import Json, event
from tests.support.mongodb.encodings import copied

encoder = partial(encodings.encoder, "debezium-1.x")
_DOCUMENT = {"_id": Int64(7), "n": "x"}
_STRICT_DOCUMENT = '{"_id": {"$numberLong": "7"},"n": "x"}'
_STRICT_KEY = '{"_id": {"$numberLong": "7"}}'


def value_of(raw: bytes, **choices: Any) -> Json:
    batch = encoder(**choices).encode([raw], at_ns=1_700_000_000_123_456_789)
    assert batch.failures == []
    [value] = [value for _, _, value, _, _ in batch.messages(0, 9) if b'"op"' in (value or b"")]
    read: Json = json.loads(value or b"")
    return read


def test_debezium_1_insert_contains_document() -> None:
    value = value_of(event("insert", Int64(7), fullDocument=_DOCUMENT))
    assert list(value.items()) == [
        ("after", _STRICT_DOCUMENT),
        ("patch", None),
        ("filter", None),
        ("source", value["source"]),
        ("op", "c"),
        ("ts_ms", 1700000000123),
        ("transaction", None),
    ]
    assert list(value["source"].items()) == [
        ("version", "0.2.0"),
        ("connector", "mongodb"),
        ("name", "L"),
        ("ts_ms", 1674749174123),
        ("snapshot", "false"),
        ("db", "shop"),
        ("sequence", None),
        ("rs", "rs0"),
        ("collection", "cust"),
        ("ord", 2),
        ("h", None),
        ("tord", None),
        ("stxnid", None),
    ]


@pytest.mark.parametrize(
    ("description", "patch"),
    [
        ({"updatedFields": {"n": Int64(1)}}, {"$set": {"n": {"$numberLong": "1"}}}),
        ({"removedFields": ["a.b", "c"]}, {"$unset": {"a.b": True, "c": True}}),
        (
            {
                "updatedFields": {"n": 1},
                "removedFields": ["o"],
                "truncatedArrays": [{"field": "tags", "newSize": 2}],
            },
            {
                "$set": {"n": 1},
                "$unset": {"o": True},
                "$push": {"tags": {"$each": [], "$slice": 2}},
            },
        ),
        ({"updatedFields": {}, "removedFields": [], "truncatedArrays": []}, {}),
    ],
)
def test_debezium_1_update_contains_patch_and_filter(description: Json, patch: Json) -> None:
    raw = event("update", Int64(7), updateDescription=description, fullDocument=_DOCUMENT)
    value = value_of(raw)
    assert list(json.loads(value["patch"]).items()) == [("$v", 1), *patch.items()]
    assert (value["after"], value["filter"], value["op"]) == (None, _STRICT_KEY, "u")


def test_debezium_1_replacement_patch_is_whole_document() -> None:
    value = value_of(event("replace", Int64(7), fullDocument=_DOCUMENT))
    assert (value["patch"], value["filter"]) == (_STRICT_DOCUMENT, _STRICT_KEY)
    assert (value["after"], value["op"]) == (None, "u")


def test_debezium_1_delete_filter_contains_shard_key() -> None:
    raw = event("delete", documentKey={"country": "NL", "_id": Int64(7)})
    value = value_of(raw)
    assert value["filter"] == '{"country": "NL","_id": {"$numberLong": "7"}}'
    assert (value["after"], value["patch"], value["op"]) == (None, None, "d")
    batch = encoder().encode([raw])
    assert batch.messages(0, 2)[1][1:3] == (b'{"id":"7"}', None)


def test_debezium_1_snapshot_document_is_a_read() -> None:
    batch = copied(encoder(), _DOCUMENT, snapshot="last")
    value = json.loads(batch.messages(0, 1)[0][2] or b"")
    assert (value["after"], value["patch"], value["op"]) == (_STRICT_DOCUMENT, None, "r")
    assert value["source"]["snapshot"] == "last"


def test_debezium_1_patch_follows_json_format() -> None:
    raw = event("update", updateDescription={"updatedFields": {"n": Int64(1)}})
    assert value_of(raw, document_json="relaxed")["patch"] == '{"$v": 1,"$set": {"n": 1}}'
    canonical = value_of(raw, document_json="extended")["patch"]
    assert canonical == '{"$v": {"$numberInt": "1"},"$set": {"n": {"$numberLong": "1"}}}'


def test_debezium_1_transaction_is_in_source() -> None:
    session = uuid.UUID(int=0x123456789ABCDEF0123456789ABCDEF0)
    raw = event("delete", lsid={"id": Binary.from_uuid(session)}, txnNumber=Int64(3))
    value = value_of(raw, transaction_topic="T")
    source = value["source"]
    assert (source["stxnid"], source["tord"]) == (f"{session}:3", 1)
    assert value["transaction"]["total_order"] == 1
    making = encoder(transaction_topic="T")
    begin, _, _, end, _, _ = making.encode([raw, event("delete")]).messages(0, 9)
    assert "ts_ms" not in json.loads(begin[2] or b"")
    told = json.loads(end[2] or b"")
    assert told["data_collections"] == [{"data_collection": "rs0.shop.cust", "event_count": 1}]


def test_debezium_1_excluded_fields_are_omitted() -> None:
    raw = event(
        "update",
        documentKey={"country": "NL", "_id": 7},
        updateDescription={"updatedFields": {"name": 1, "x": 2}, "removedFields": ["name"]},
    )
    rules = ["shop.cust.name", "shop.cust.country", "shop.cust._id"]
    value = value_of(raw, excluded_fields=rules)
    assert json.loads(value["patch"]) == {"$v": 1, "$set": {"x": 2}}
    assert json.loads(value["filter"]) == {"_id": 7}


@pytest.mark.parametrize(
    ("snapshot", "is_initial"), [("true", True), ("last", True), ("incremental", False)]
)
def test_debezium_1_source_version_1_matches_debezium(snapshot: Any, is_initial: bool) -> None:
    """The fields follow `LegacyV1MongoDbSourceInfoStructMaker` of Debezium 1.7."""
    changed = value_of(event("insert", Int64(7), fullDocument=_DOCUMENT), source_version="v1")
    expected = {
        "version": "0.2.0",
        "connector": "mongodb",
        "name": "L",
        "rs": "rs0",
        "ns": "shop.cust",
        "sec": 1674749174,
        "ord": 2,
        "h": None,
        "initsync": False,
    }
    assert list(changed["source"].items()) == list(expected.items())
    making = encoder(source_version="v1")
    batch = copied(making, _DOCUMENT, cluster_time=(1674749174, 2), snapshot=snapshot)
    ((_, _, value, _, _),) = batch.messages(0, 1)
    assert json.loads(value or b"")["source"] == {**expected, "initsync": is_initial}
