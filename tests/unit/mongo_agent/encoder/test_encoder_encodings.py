"""Keys and values in Avro and in JSON with schemas equal those in plain JSON."""

import json
from typing import Any

import pytest
from bson import Int64
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.avro.reading import Ids
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.encodings import (
    AT_NS,
    LAYOUTS,
    LSID,
    TOPICS,
    copied,
    encoder,
    events,
    registered,
)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=20, deadline=None)
@given(given=events(), source=st.sampled_from(["v1", "v2"]))
def test_avro_values_equal_json_values(layout: str, given: list[bytes], source: str) -> None:
    choices: dict[str, Any] = {**TOPICS}
    if layout == "debezium-1.x":
        choices["source_version"] = source
    ids = Ids()
    plain = encoder(layout, **choices).encode(given, at_ns=AT_NS)
    avro = registered(
        encoder(layout, **choices, key="avro", value="avro", schema_ids=ids.ids), ids, given
    )
    assert len(avro) == len(plain)
    assert (avro.counts, avro.skipped) == (plain.counts, plain.skipped)
    assert [each.event for each in avro.failures] == [each.event for each in plain.failures]
    pairs = zip(avro.messages(0, len(avro)), plain.messages(0, len(plain)), strict=True)
    for (topic, key, value, headers, _), (topic_2, key_2, value_2, headers_2, _) in pairs:
        assert (topic, headers) == (topic_2, headers_2)
        assert ids.decoded(key) == json.loads(key_2)
        if value_2 is None:
            assert value is None
            continue
        assert value is not None
        found, expected = ids.value(value), json.loads(value_2)
        if layout == "mongodb" and isinstance(found, str):
            found = json.loads(found)
        elif topic == "L.schema":
            found["event"] = json.loads(found["event"])
        assert found == expected


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=20, deadline=None)
@given(given=events())
def test_json_with_schema_contains_same_payload(layout: str, given: list[bytes]) -> None:
    plain = encoder(layout, **TOPICS).encode(given, at_ns=AT_NS)
    making = encoder(layout, **TOPICS, key="json_with_schema", value="json_with_schema")
    batch = making.encode(given, at_ns=AT_NS)
    pairs = zip(batch.messages(0, len(batch)), plain.messages(0, len(plain)), strict=True)
    for (topic, key, value, headers, _), (topic_2, key_2, value_2, headers_2, _) in pairs:
        assert (topic, headers) == (topic_2, headers_2)
        assert key.endswith(b',"payload":' + key_2 + b"}")
        if value is None or value_2 is None:
            assert value == value_2
            continue
        if layout == "mongodb" and topic != "L.transaction":
            assert json.loads(json.loads(value)["payload"]) == json.loads(value_2)
        elif topic == "L.schema":
            payload = json.loads(value)["payload"]
            assert {**payload, "event": json.loads(payload["event"])} == json.loads(value_2)
        else:
            assert value.endswith(b',"payload":' + value_2 + b"}")


def test_invalid_utf8_is_replaced_in_avro_as_in_json() -> None:
    raw = event("insert", fullDocument={"_id": 7, "n": "XYZ"}, lsid=LSID, txnNumber=Int64(1))
    broken = raw.replace(b"XYZ", b"\xff\xfeZ")
    ids = Ids()
    making = encoder("debezium-3", key="avro", value="avro", schema_ids=ids.ids)
    batch = registered(making, ids, [broken])
    value = batch.messages(0, 1)[0][2]
    plain = encoder("debezium-3").encode([broken], at_ns=AT_NS).messages(0, 1)[0][2]
    assert value is not None and plain is not None
    assert ids.decoded(value) == json.loads(plain)
    assert "\ufffd\ufffdZ" in ids.decoded(value)["after"]


def test_snapshot_documents_use_schemas_of_stream() -> None:
    ids = Ids()
    making = encoder("debezium-3", key="avro", value="avro", schema_ids=ids.ids)
    lacking = making.unregistered("shop", "cust")
    assert [(each.side, each.topic, each.record) for each in lacking] == [
        ("key", "L.shop.cust", "L.shop.cust.Key"),
        ("value", "L.shop.cust", "L.shop.cust.Envelope"),
    ]
    ids.give(lacking)
    assert making.unregistered("shop", "cust") == []
    documents = [{"_id": 7, "n": "x" * size} for size in (0, 50, 8000, 9000)]
    batch = copied(making, *documents, snapshot="last")
    assert batch.unregistered == []
    for document, (_, _, value, _, _) in zip(documents, batch.messages(0, 4), strict=True):
        assert value is not None
        found = ids.decoded(value)
        assert json.loads(found["after"]) == document
        assert found["source"]["snapshot"] == "last"
    streamed = making.encode([event("insert", fullDocument={"_id": 7})])
    assert streamed.unregistered == []


def test_batch_lists_unregistered_schemas_once() -> None:
    making = encoder("debezium-3", **TOPICS, value="avro")
    given = [
        event("insert", 1, fullDocument={"_id": 1}, lsid=LSID, txnNumber=Int64(1)),
        event("insert", 2, fullDocument={"_id": 2}),
        event("insert", 3, ns={"db": "shop", "coll": "other"}, fullDocument={"_id": 3}),
    ]
    names = [(each.side, each.topic) for each in making.encode(given).unregistered]
    assert sorted(names) == [
        ("value", "L.shop.cust"),
        ("value", "L.shop.other"),
        ("value", "L.transaction"),
    ]


def test_abandoned_schema_is_rejected_and_others_continue() -> None:
    ids = Ids()
    making = encoder("debezium-3", key="avro", value="avro", schema_ids=ids.ids)
    given = [
        event("insert", 1, fullDocument={"_id": 1}),
        event("insert", 2, ns={"db": "shop", "coll": "other"}, fullDocument={"_id": 2}),
    ]
    for schema in making.unregistered("shop", "cust"):
        ids.ids.abandon(schema)
    batch = registered(making, ids, given)
    (refused,) = batch.failures
    assert refused.event == 0
    assert "the schema registry rejects the schema of the key in topic L.shop.cust" in refused.cause
    assert [topic for topic, *_ in batch.messages(0, len(batch))] == ["L.shop.other"]
    for schema in making.unregistered("shop", "cust"):
        ids.give([schema])
    assert registered(making, ids, given).failures == []


def test_heartbeat_is_encoded_with_registered_schema() -> None:
    ids = Ids()
    making = encoder("debezium-3", key="json_with_schema", value="avro", schema_ids=ids.ids)
    assert making.heartbeat("hb", "L", 5) is None
    (schema,) = making.unregistered_heartbeat("hb")
    assert schema.record == "io.debezium.connector.common.Heartbeat"
    ids.give([schema])
    found = making.heartbeat("hb", "L", 5)
    assert found is not None
    assert json.loads(found[0])["payload"] == {"serverName": "L"}
    assert ids.decoded(found[1]) == {"ts_ms": 5}
    assert encoder("debezium-3").heartbeat("hb", "L", 5) == (b'{"serverName":"L"}', b'{"ts_ms":5}')


@pytest.mark.parametrize(
    ("names", "of_json", "of_avro"),
    [
        ("none", "L.shop.a-b_1.2x.Key", "L.shop.a_b_1._2x.Key"),
        ("avro", "L.shop.a_b_1._2x.Key", "L.shop.a_b_1._2x.Key"),
        (
            "avro_unicode",
            "L.shop.a_u002db_u005f1._u0032x.Key",
            "L.shop.a_u002db_u005f1._u0032x.Key",
        ),
    ],
)
def test_schema_names_follow_adjustment_mode(names: str, of_json: str, of_avro: str) -> None:
    given = [event("insert", ns={"db": "shop", "coll": "a-b_1.2x"}, fullDocument={"_id": 7})]
    with_schema = encoder("debezium-3", names=names, key="json_with_schema").encode(given)
    assert json.loads(with_schema.messages(0, 1)[0][1])["schema"]["name"] == of_json
    avro = encoder("debezium-3", names=names, key="avro")
    assert avro.encode(given).unregistered[0].record == of_avro
