"""MongoDB events in every layout and encoding."""

from collections.abc import Mapping, Sequence
from typing import Any

from bson import Binary, Int64
from hypothesis import strategies as st

from mongo_agent.encoder import MongoBatch, MongoEncoder
from tests.support.avro.reading import Ids
from tests.support.mongodb.bson_documents import NAMES, SHORT_DOUBLES, documents, encoded, event

LAYOUTS = ("debezium-3", "debezium-2.1", "debezium-1.x", "mongodb")
AT_NS = 1_700_000_000_123_456_789
TOPICS = {"transaction_topic": "L.transaction", "schema_topic": "L.schema"}
DOCUMENTS = documents(SHORT_DOUBLES)
LSID = {"id": Binary(bytes(range(16)), 4), "uid": Binary(bytes(32), 0)}


def encoder(layout: str = "debezium-3", **choices: Any) -> MongoEncoder:
    named: dict[str, Any] = {
        "topic_prefix": "L",
        "replica_set": "rs0",
        "node_id": "a",
        **choices,
        "layout": layout,
    }
    return MongoEncoder(**named)


def copied(making: MongoEncoder, *given: Mapping[str, Any], **choices: Any) -> MongoBatch:
    """Messages of documents of `shop.cust` as a snapshot has them; `choices` as of
    `encode_snapshot`."""
    place = {"database": "shop", "collection": "cust", "cluster_time": (5, 6)}
    named: dict[str, Any] = {**place, "read_at_ms": 0, "snapshot": "true", **choices}
    return making.encode_snapshot([encoded(each) for each in given], **named)


def registered(making: MongoEncoder, ids: Ids, events: Sequence[bytes]) -> MongoBatch:
    batch = making.encode(events, at_ns=AT_NS)
    if batch.unregistered:
        ids.give(list(dict.fromkeys(batch.unregistered)))
        batch = making.encode(events, at_ns=AT_NS)
    assert batch.unregistered == []
    return batch


@st.composite
def events(draw: st.DrawFn) -> list[bytes]:
    """Changes of every kind, in transactions and without, and events of no document."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        operation = draw(st.sampled_from(["insert", "update", "replace", "delete", "drop"]))
        members: dict[str, Any] = {
            "ns": {"db": draw(st.sampled_from(["shop", "größe"])), "coll": draw(NAMES) or "c"}
        }
        if operation == "drop":
            found.append(event("drop", **members))
            continue
        if operation in ("insert", "replace") or draw(st.booleans()):
            members["fullDocument"] = draw(DOCUMENTS)
        if draw(st.booleans()):
            members["fullDocumentBeforeChange"] = draw(DOCUMENTS)
        if operation == "update":
            members["updateDescription"] = {
                "updatedFields": draw(DOCUMENTS),
                "removedFields": draw(st.lists(NAMES, max_size=3)),
                "truncatedArrays": [
                    {"field": name, "newSize": size}
                    for size, name in enumerate(draw(st.lists(NAMES, max_size=2)))
                ],
            }
        if draw(st.booleans()):
            members |= {"lsid": LSID, "txnNumber": Int64(draw(st.integers(0, 2)))}
        identity = draw(st.sampled_from([7, 'ä"b\\', 12.5, number, {"a": [None, "x"]}]))
        found.append(event(operation, identity, **members))
    return found
