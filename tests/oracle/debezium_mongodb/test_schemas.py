"""Message schemas equal those of Debezium's connector, and Connect's converters accept them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bson import Int64
from pymongo import MongoClient

from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import MongoEncoder
from tests.oracle.debezium_mongodb import ours
from tests.oracle.debezium_mongodb.comparison import compared
from tests.oracle.debezium_mongodb.connect import read_by_connect, with_namespaces
from tests.oracle.debezium_mongodb.engines import VERSION, EmbeddedEngines, PeerRecord
from tests.oracle.debezium_mongodb.workload import END, END_KEY
from tests.support.mongodb.bson_documents import event
from tests.support.mongodb.encodings import LAYOUTS, LSID, TOPICS, encoder
from tests.support.mongodb.server import MongoReplicaSet

RELEASES = {VERSION: "debezium-3", "2.1.4.Final": "debezium-2.1"}
ENVELOPE = {
    "schemas.enable": "true",
    "provide.transaction.metadata": "true",
    "heartbeat.interval.ms": "100",
    "capture.mode": "change_streams_with_pre_image",
    "snapshot.mode": "initial",
}


def write(client: MongoClient[Any]) -> None:
    client.shop.orders.insert_one({"_id": 1, "n": 1, "list": [1, 2, 3], "gone": 0})
    stages: list[dict[str, Any]] = [
        {"$set": {"n": 2, "list": {"$literal": [1]}}},
        {"$unset": "gone"},
    ]
    client.shop.orders.update_one({"_id": 1}, stages)
    client.shop.orders.replace_one({"_id": 1}, {"n": 3})
    client.shop["a-b_1"].insert_one({"_id": "x"})
    with client.start_session() as session, session.start_transaction():
        client.shop.orders.insert_one({"_id": 2}, session=session)
        client.shop["a-b_1"].insert_one({"_id": 3}, session=session)
    client.shop.orders.delete_one({"_id": 1})
    client[END[0]][END[1]].insert_one({"_id": END_KEY})


@pytest.mark.servers
@pytest.mark.parametrize("version", [VERSION, pytest.param("2.1.4.Final", marks=pytest.mark.slow)])
@pytest.mark.parametrize("names", ["none", "avro"])
def test_mongodb_schemas_equal_those_of_debezium(version: str, names: str, tmp_path: Path) -> None:
    layout = RELEASES[version]
    with (
        MongoReplicaSet(version="6.0.20") as server,
        MongoClient[Any](server.connection_string) as client,
        EmbeddedEngines(tmp_path, version=version) as engines,
    ):
        images = {"enabled": True}
        client.shop.create_collection("orders", changeStreamPreAndPostImages=images)
        client.shop.orders.insert_one({"_id": 0})
        target = {"mongodb.connection.string": "", "mongodb.hosts": f"rs0/{server.primary}"}
        properties = {
            **{name: value for name, value in ENVELOPE.items() if name != "schemas.enable"},
            **(target if layout == "debezium-2.1" else {}),
            "converter.schemas.enable": "true",
            "schema.name.adjustment.mode": names,
        }
        engines.start("peer", server.connection_string, properties)
        engines.records("peer", lambda records: any("orders" in each.topic for each in records))
        started_at = server.write_noop()
        write(client)
        done = f"peer.{END[0]}.{END[1]}"
        theirs = engines.records("peer", lambda found: any(each.topic == done for each in found))
        at = ClusterTime(started_at.time, started_at.inc)
        events = ours.events_since(at, client, StreamOptions("default", "whenAvailable"))
    making = encoder(
        layout,
        topic_prefix="peer",
        transaction_topic="peer.transaction",
        key="json_with_schema",
        value="json_with_schema",
        names=names,
    )
    beat = making.heartbeat("__debezium-heartbeat.peer", "peer", 5)
    assert beat is not None
    found = [*ours.records(making.encode(events)), PeerRecord("__debezium-heartbeat.peer", *beat)]
    assert schemas(found) == schemas(theirs)
    assert payloads(found, layout) == payloads(theirs, layout)


def schemas(records: list[PeerRecord]) -> dict[tuple[str, str], Any]:
    """Schemas by topic and side, one per topic. Each Debezium release lists its own snapshot
    markers: here the list contains all of them."""
    found: dict[tuple[str, str], Any] = {}
    for record in records:
        for side, message in (("key", record.key), ("value", record.value)):
            if message is not None:
                schema = without_marks(json.loads(message)["schema"])
                # Debezium's envelope contains only milliseconds.
                finer = ("ts_us", "ts_ns")
                fields = [each for each in schema["fields"] if each["field"] not in finer]
                schema = {**schema, "fields": fields}
                assert found.setdefault((record.topic, side), schema) == schema
    return found


def without_marks(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("name") == "io.debezium.data.Enum":
        return {**schema, "parameters": {"allowed": "…"}}
    if "fields" in schema:
        return {**schema, "fields": [without_marks(field) for field in schema["fields"]]}
    return schema


def payloads(records: list[PeerRecord], layout: str) -> list[Any]:
    """Payloads of the changes after the snapshot."""
    found = []
    for record in records:
        if "heartbeat" in record.topic or record.topic == "peer.transaction":
            continue
        payload = None if record.value is None else json.loads(record.value)["payload"]
        if payload is not None and payload["op"] == "r":
            continue
        key = json.dumps(json.loads(record.key or b"null")["payload"]).encode()
        plain = PeerRecord(record.topic, key, json.dumps(payload).encode() if payload else None)
        topic, identity, value = compared(plain)
        for times in (value or {}, (value or {}).get("source", {})):
            times.pop("ts_ms", None)
        found.append((topic, identity, value))
    return found


def messages_of(layout: str) -> Iterator[tuple[MongoEncoder, list[bytes]]]:
    given = [
        event("insert", 1, fullDocument={"_id": 1, "n": 'ä"\\'}, lsid=LSID, txnNumber=Int64(1)),
        event(
            "update",
            2,
            updateDescription={
                "updatedFields": {"a": 1},
                "removedFields": ["b", "c"],
                "truncatedArrays": [{"field": "d", "newSize": 2}, {"field": "e", "newSize": 0}],
            },
        ),
        event("delete", 3, fullDocumentBeforeChange={"_id": 3}),
        event("dropDatabase", ns={"db": "shop"}),
    ]
    versions = ("v1", "v2") if layout == "debezium-1.x" else ("v2",)
    for source_version in versions:
        for encoding in ("json_with_schema", "avro"):
            choices = {"source_version": source_version, "key": encoding, "value": encoding}
            yield encoder(layout, **TOPICS, **choices, names="avro"), given


@pytest.mark.parametrize("layout", LAYOUTS)
def test_connect_converts_messages_to_the_same_avro(layout: str) -> None:
    makers = list(messages_of(layout))
    for (with_schema, given), (avro, _) in zip(makers[::2], makers[1::2], strict=True):
        batch = with_schema.encode(given)
        parts = [
            (topic, side, message)
            for topic, key, value, _, _ in batch.messages(0, len(batch))
            for side, message in (("key", key), ("value", value))
            if message is not None
        ]
        beat = with_schema.heartbeat("hb", "L", 5)
        assert beat is not None
        parts += [("hb", "key", beat[0]), ("hb", "value", beat[1])]
        lacking = [*avro.encode(given).unregistered, *avro.unregistered_heartbeat("hb")]
        made = {(each.topic, str(each.side)): json.loads(each.schema) for each in lacking}
        read = read_by_connect(message for _, _, message in parts)
        for (topic, side, message), found in zip(parts, read, strict=True):
            assert json.loads(found.again) == json.loads(message)
            own = with_namespaces(made[topic, side])
            assert own == with_namespaces(json.loads(found.schema))
