"""DDL events of collections and databases as messages."""

import json

import bson
import pytest
from bson import Timestamp

from mongo_agent.encoder import MongoBatch
from tests.support.mongodb.bson_documents import Json, encoded, event
from tests.support.mongodb.encodings import encoder


def happened(operation: str, namespace: Json | None, **others: object) -> bytes:
    read = bson.decode(event(operation, **others))
    del read["documentKey"], read["ns"]
    if namespace is not None:
        read["ns"] = namespace
    return encoded(read)


_CUST = {"db": "shop", "coll": "cust"}
_NEW = {"db": "shop", "coll": "new"}
DROP = happened("drop", _CUST)
RENAME = happened("rename", _CUST, to=_NEW)
DROP_DATABASE = happened("dropDatabase", {"db": "shop"})
INVALIDATE = happened("invalidate", None)
INDEXES = happened("createIndexes", _CUST, operationDescription={"indexes": [{"key": {"n": 1}}]})


def placed(batch: MongoBatch) -> list[tuple[str, bytes]]:
    return [(topic, key) for topic, key, _, _, _ in batch.messages(0, len(batch))]


def test_ddl_events_go_to_the_configured_topic() -> None:
    making = encoder(schema_topic="L.schema")
    batch = making.encode([DROP, RENAME, DROP_DATABASE, INVALIDATE, INDEXES], at_ns=2_000_000)
    assert placed(batch) == [
        ("L.schema", b'{"id":"shop.cust"}'),
        ("L.schema", b'{"id":"shop.cust"}'),
        ("L.schema", b'{"id":"shop"}'),
        ("L.schema", b'{"id":""}'),
        ("L.schema", b'{"id":"shop.cust"}'),
    ]
    assert (batch.skipped, batch.failures) == ({}, [])
    assert batch.counts == {("shop.cust", "schema"): 3, ("shop", "schema"): 1, ("", "schema"): 1}
    values = [json.loads(message[2] or b"") for message in batch.messages(0, 5)]
    assert [value["operation"] for value in values] == [
        "drop",
        "rename",
        "dropDatabase",
        "invalidate",
        "createIndexes",
    ]
    assert list(values[0]) == ["source", "operation", "event", "ts_ms"]
    assert values[0]["ts_ms"] == 2
    source = values[0]["source"]
    assert (source["db"], source["collection"], source["ord"]) == ("shop", "cust", 2)
    assert (values[2]["source"]["collection"], values[3]["source"]["db"]) == (None, None)
    assert values[1]["event"]["to"] == _NEW
    assert values[4]["event"]["operationDescription"] == {"indexes": [{"key": {"n": 1}}]}
    headers = dict(batch.messages(0, 1)[0][3])
    assert headers["cdc.kind"] == b"schema"
    assert headers["cdc.source"] == b"a/rs0/1674749174.2/0"
    assert headers["cdc.ts_us"] == b"1674749174123000"


@pytest.mark.parametrize("layout", ["debezium-2.1", "debezium-1.x"])
def test_source_of_ddl_events_follows_the_layout(layout: str) -> None:
    batch = encoder(schema_topic="S", layout=layout).encode([DROP])
    assert json.loads(batch.messages(0, 1)[0][2] or b"")["source"]["rs"] == "rs0"


def test_ddl_events_without_a_topic_are_counted() -> None:
    batch = encoder().encode([DROP, DROP_DATABASE, DROP])
    assert batch.skipped == {"drop": 2, "dropDatabase": 1}
    assert len(batch) == 0


def test_native_ddl_events_use_topics_of_collections() -> None:
    making = encoder(layout="mongodb", topic_delimiter="-")
    events = [event("insert"), DROP, RENAME, DROP_DATABASE, INVALIDATE]
    batch = making.encode(events)
    assert placed(batch) == [
        ("L-shop-cust", b'{"id":"7"}'),
        ("L-shop-cust", b'{"id":"shop.cust"}'),
        ("L-shop-cust", b'{"id":"shop.cust"}'),
        ("L-shop", b'{"id":"shop"}'),
        ("L", b'{"id":""}'),
    ]
    rename = json.loads(batch.messages(2, 3)[0][2] or b"")
    assert list(rename) == ["_id", "operationType", "clusterTime", "wallTime", "to", "ns"]
    together = encoder(layout="mongodb", schema_topic="S").encode(events)
    assert [topic for topic, _ in placed(together)] == ["L.shop.cust", "S", "S", "S", "S"]


def test_uncaptured_collections_yield_no_ddl_events() -> None:
    making = encoder(schema_topic="S", captures=lambda _, collection: collection == "new")
    other = happened("rename", {"db": "shop", "coll": "a"}, to={"db": "shop", "coll": "b"})
    into = happened("rename", {"db": "shop", "coll": "a"}, to=_NEW)
    out_of = happened("rename", _NEW, to={"db": "shop", "coll": "a"})
    batch = making.encode([DROP, other, into, out_of, DROP_DATABASE])
    assert batch.skipped == {"not captured": 2}
    assert [batch.position_after(done) for done in range(4)] == [2, 3, 4, 5]


def test_ddl_event_ids_identify_changes() -> None:
    later = bson.decode(DROP)
    later["clusterTime"] = Timestamp(1674749174, 3)
    looked_at_later = bson.decode(DROP)
    looked_at_later["collectionUUID"] = 5
    other_index = happened("createIndexes", _CUST, operationDescription={"indexes": []})
    other_name = happened("rename", _CUST, to={"db": "shop", "coll": "old"})
    events = [DROP, DROP_DATABASE, INVALIDATE, RENAME, INDEXES, other_index, other_name]
    batch = encoder(schema_topic="S").encode([*events, encoded(later), encoded(looked_at_later)])
    ids = [dict(message[3])["cdc.id"] for message in batch.messages(0, 99)]
    assert len(set(ids)) == len(events) + 1
    assert ids[-1] == ids[0]


def test_ddl_event_time_falls_back_to_token() -> None:
    read = bson.decode(DROP)
    del read["clusterTime"], read["wallTime"]
    batch = encoder(schema_topic="S").encode([encoded(read)])
    assert dict(batch.messages(0, 1)[0][3])["cdc.source"] == b"a/rs0/1674749174.2/0"
    del read["_id"]
    batch = encoder(schema_topic="S").encode([encoded(read)])
    assert batch.failures[0].cause == "the event has no clusterTime at byte 0"


def test_ddl_events_end_other_transactions_only() -> None:
    session: Json = {"lsid": {"id": "s"}, "txnNumber": 1}
    making = encoder(schema_topic="S", transaction_topic="T")
    create = happened("create", _NEW, **session)
    batch = making.encode([event("insert", **session), create, DROP])
    assert [topic for topic, _ in placed(batch)] == ["T", "L.shop.cust", "S", "T", "S"]
