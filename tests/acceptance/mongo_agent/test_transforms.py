"""`mongo-agent run` with the transformations of a Debezium user, and a real broker."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.mongodb.agent_command import CDC, ROOT
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.kafka import KafkaBroker, KafkaRecord

pytestmark = pytest.mark.servers

PACKAGE = "io.debezium.connector.mongodb.transforms"
CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
PROPERTIES = {
    "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
    "capture.mode": "change_streams_update_full_with_pre_image",
    "snapshot.mode": "initial",
    "key.converter": CONVERTER,
    "key.converter.schemas.enable": "false",
    "value.converter": CONVERTER,
    "value.converter.schemas.enable": "false",
    "transforms": "outbox,unwrap",
    "transforms.outbox.type": f"{PACKAGE}.outbox.MongoEventRouter",
    "transforms.outbox.predicate": "isOutbox",
    "transforms.outbox.collection.field.event.key": "aggregateid",
    "transforms.outbox.collection.expand.json.payload": "true",
    "transforms.outbox.collection.fields.additional.placement": "type:header:eventType",
    "transforms.outbox.route.by.field": "kind",
    "transforms.outbox.route.topic.replacement": "events.${routedByValue}",
    "transforms.unwrap.type": f"{PACKAGE}.ExtractNewDocumentState",
    "transforms.unwrap.predicate": "isOutbox",
    "transforms.unwrap.negate": "true",
    "transforms.unwrap.flatten.struct": "true",
    "transforms.unwrap.add.fields": "op,source.collection",
    "transforms.unwrap.add.headers": "op",
    "predicates": "isOutbox",
    "predicates.isOutbox.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
}
MODES: dict[str, list[Any]] = {
    "tombstone": [None],
    "rewrite-with-tombstone": [
        {"_id": 1, "to_city": "B", "__deleted": True, "__op": "d", "__source_collection": "orders"},
        None,
    ],
}


@pytest.fixture
def root(replica_set: MongoReplicaSet) -> Iterator[Client]:
    with Client(
        replica_set.connection_string, username=ROOT.name, password=ROOT.password
    ) as client:
        yield client


@pytest.mark.parametrize(
    "mode", [pytest.param("tombstone", marks=pytest.mark.slow), "rewrite-with-tombstone"]
)
def test_documents_are_flattened_and_outbox_events_are_routed(
    mode: str, tmp_path: Path, root: Client, replica_set: MongoReplicaSet, broker: KafkaBroker
) -> None:
    name = f"smt{mode[:3]}"
    shop = root[name]
    shop.create_collection("orders", changeStreamPreAndPostImages={"enabled": True})
    shop.orders.insert_one({"_id": 0, "to": {"city": "Z"}})
    shop.outbox.insert_one(outbox(0, f"{name}.order", {"n": 0}))
    agent = AgentProcess(
        "mongo-agent",
        tmp_path / "agent",
        {
            **PROPERTIES,
            "topic.prefix": name,
            "mongodb.hosts": f"rs0/{replica_set.members[0]}",
            "mongodb.user": CDC.name,
            "mongodb.password": CDC.password,
            "database.include.list": name,
            "cursor.max.await.time.ms": 20,
            "offset.backing.store.dir": tmp_path,
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            "topic.creation.enable": "true",
            "transforms.unwrap.delete.tombstone.handling.mode": mode,
            "predicates.isOutbox.pattern": f"{name}[.]{name}[.]outbox",
        },
    )

    def records(topic: str) -> list[KafkaRecord]:
        return broker.consume_all(topic) if topic in broker.topics() else []

    def wait_until(condition: Callable[[], bool], what: str) -> None:
        agent.wait_until(condition, what)

    orders, events = f"{name}.{name}.orders", f"events.{name}.order"
    with agent:
        agent.launch()
        wait_until(lambda: bool(records(orders) and records(events)), "the snapshot")
        shop.orders.insert_one({"_id": 1, "to": {"city": "A"}})
        shop.orders.update_one({"_id": 1}, {"$set": {"to.city": "B"}})
        shop.orders.delete_one({"_id": 1})
        shop.outbox.insert_one(outbox(1, f"{name}.order", {"n": 1}))
        shop.outbox.delete_one({"_id": 1})
        shop.outbox.insert_one(outbox(2, f"{name}.bill", "text"))
        wait_until(lambda: bool(records(f"events.{name}.bill")), "the last event")
        agent.stop()
    assert set(broker.topics()) >= {orders, events}
    assert f"{name}.{name}.outbox" not in broker.topics()
    found = records(orders)
    states = [("Z", "r", 0), ("A", "c", 1), ("B", "u", 1)]
    deleted = {"__deleted": False} if "rewrite" in mode else {}
    assert [value(each) for each in found] == [
        {"_id": key, "to_city": city, **deleted, "__op": op, "__source_collection": "orders"}
        for city, op, key in states
    ] + MODES[mode]
    assert [each.key for each in found] == [b'{"id":0}', *[b'{"id":1}'] * (len(found) - 1)]
    assert [dict(each.headers)["__op"] for each in found[:3]] == [b"r", b"c", b"u"]
    found = [*records(events), *records(f"events.{name}.bill")]
    assert [(each.key, each.value) for each in found] == [
        (b'"k0"', b'{"n":0}'),
        (b'"k1"', b'{"n":1}'),
        (b'"k2"', b'"text"'),
    ]
    headers = [dict(each.headers) for each in found]
    assert [(each["id"], each["eventType"]) for each in headers] == [
        (b"0", b"Made"),
        (b"1", b"Made"),
        (b"2", b"Made"),
    ]


def outbox(number: int, kind: str, payload: Any) -> dict[str, Any]:
    key = f"k{number}"
    return {"_id": number, "aggregateid": key, "kind": kind, "type": "Made", "payload": payload}


def value(record: KafkaRecord) -> Any:
    return None if record.value is None else json.loads(record.value)
