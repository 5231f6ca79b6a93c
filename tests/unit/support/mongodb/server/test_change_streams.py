"""The contents and resume points of a change stream that no driver's tests state."""

from typing import Any

import pytest
from pymongo.errors import OperationFailure
from pymongo.write_concern import WriteConcern

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.given import needs_own_server

Document = dict[str, Any]


def write_some(client: Client) -> None:
    collection = client.shop.customers
    collection.insert_many([{"_id": 1, "n": 0}, {"_id": "two", "n": 0}, {"_id": 2.5, "n": 0}])
    collection.update_many({}, {"$inc": {"n": 1}})
    collection.replace_one({"_id": 1}, {"n": 7})
    client.shop.orders.insert_one({"_id": {"a": [1, "x"]}})
    with client.start_session() as session, session.start_transaction():
        collection.insert_one({"_id": 4}, session=session)
        collection.insert_one({"_id": 5}, session=session)
        client.shop.orders.delete_one({}, session=session)
    collection.delete_many({})


def all_events(client: Client, **options: Any) -> list[Document]:
    """The events of a cluster-wide stream up to its end."""
    found = []
    with client.watch(max_await_time_ms=1, **options) as stream:
        while (event := stream.try_next()) is not None:
            found.append(event)
    return found


@pytest.mark.parametrize("version", ["6.0.20", "7.0.14"])
def test_every_resume_token_resumes_at_its_event(version: str) -> None:
    needs_own_server()
    with (
        MongoReplicaSet(version=version) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        start = replica_set.write_noop()
        write_some(client)
        events = all_events(client, start_at_operation_time=start)
        assert len(events) == 16
        tokens = [event["_id"]["_data"] for event in events]
        assert tokens == sorted(set(tokens))
        for number, event in enumerate(events):
            assert all_events(client, resume_after=event["_id"]) == events[number + 1 :]
            assert all_events(client, start_after=event["_id"]) == events[number + 1 :]
            since = [each for each in events if each["clusterTime"] >= event["clusterTime"]]
            assert all_events(client, start_at_operation_time=event["clusterTime"]) == since


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ({"operationType": "insert"}, [0, 1]),
        ({"ns.coll": {"$nin": ["orders"]}}, [0, 2]),
        ({"ns.coll": {"$regex": "^ord"}}, [1, 3]),
        ({"$or": [{"ns.coll": "orders"}, {"fullDocument.n": 1}]}, [0, 1, 3]),
        ({"$and": [{"ns.db": "shop"}, {"fullDocument.n": {"$exists": False}}]}, [2, 3]),
        ({"ns.coll": {"$not": {"$eq": "orders"}}}, [0, 2]),
    ],
)
def test_stream_filters_select_events(
    client: Client, condition: Document, numbers: list[int]
) -> None:
    stages = [{"$match": condition}]
    with client.watch() as whole, client.watch(stages, max_await_time_ms=1) as filtered:
        client.shop.customers.insert_one({"_id": 1, "n": 1})
        client.shop.orders.insert_one({"_id": 1, "n": 2})
        client.shop.customers.delete_one({})
        client.shop.orders.delete_one({})
        events = [whole.next() for _ in range(4)]
        assert [filtered.next() for _ in numbers] == [events[number] for number in numbers]
        assert filtered.try_next() is None


def test_stream_projections_shape_events(client: Client) -> None:
    stages: list[Document] = [
        {"$project": {"kind": "$operationType", "ns": 1, "fixed": "text", "no": "$nothing"}},
        {"$addFields": {"where.coll": "$ns.coll"}},
        {"$unset": "ns.db"},
    ]
    with client.shop.watch(stages) as stream:
        client.shop.customers.insert_one({})
        event = stream.next()
    shown = {name: value for name, value in event.items() if name != "_id"}
    coll = {"coll": "customers"}
    assert shown == {"ns": coll, "kind": "insert", "fixed": "text", "where": coll}
    with client.shop.watch([{"$addFields": {"n": {"$toString": "$_id"}}}]) as stream:
        client.shop.customers.insert_one({})
        with pytest.raises(OperationFailure) as caught:
            stream.next()
    assert caught.value.code == 241


@pytest.mark.parametrize("name", ["admin", "local", "config"])
def test_stream_omits_internal_databases(client: Client, name: str) -> None:
    with client.watch() as stream:
        # `local` has no retryable writes.
        client[name].command("insert", "things", documents=[{}])
        client.shop.customers.insert_one({})
        assert stream.next()["ns"]["db"] == "shop"


def test_stream_stalls_without_majority(client: Client, replica_set: MongoReplicaSet) -> None:
    collection = client.shop.get_collection("customers", write_concern=WriteConcern(w=1))
    with collection.watch(max_await_time_ms=1) as stream:
        assert stream.try_next() is None
        with replica_set.stalled_majority():
            before = stream.resume_token
            collection.insert_one({"_id": 1})
            assert stream.try_next() is None
            assert stream.resume_token == before
        assert stream.next()["documentKey"] == {"_id": 1}


def test_stream_batch_is_limited_to_16_mb(client: Client) -> None:
    start = client.admin.command("ping")["operationTime"]
    for key in range(3):
        client.shop.customers.insert_one({"_id": key, "text": "x" * 7_000_000})
    stage = {"$changeStream": {"startAtOperationTime": start}}
    reply = client.shop.command("aggregate", "customers", pipeline=[stage], cursor={})["cursor"]
    sizes = [len(reply["firstBatch"])]
    while sum(sizes) < 3:
        reply = client.shop.command("getMore", reply["id"], collection="customers")["cursor"]
        sizes.append(len(reply["nextBatch"]))
    assert sizes == [2, 1]
