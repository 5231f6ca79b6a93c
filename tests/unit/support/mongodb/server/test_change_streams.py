"""Where a change stream starts, resumes, ends, and what it shows."""

from typing import Any

import pytest
from bson import Timestamp
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.mongodb.server.given import needs_own_server, needs_release

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
    """What a stream over everything gives until it is at the end."""
    found = []
    with client.watch(max_await_time_ms=1, **options) as stream:
        while (event := stream.try_next()) is not None:
            found.append(event)
    return found


@pytest.mark.parametrize("version", ["6.0.20", "7.0.14"])
def test_every_token_resumes_at_its_place(version: str) -> None:
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


def test_small_batches_give_tokens_of_their_last_events(client: Client) -> None:
    with client.watch(batch_size=2, max_await_time_ms=1) as stream:
        write_some(client)
        events = [stream.next() for _ in range(16)]
        assert stream.try_next() is None
        assert stream.resume_token is not None
        assert stream.resume_token["_data"] >= events[-1]["_id"]["_data"]


def test_the_position_moves_when_nothing_matches(
    client: Client, replica_set: MongoReplicaSet
) -> None:
    with client.shop.customers.watch(max_await_time_ms=1) as stream:
        positions = [stream.resume_token]
        for _ in range(3):
            client.other.things.insert_one({})
            assert stream.try_next() is None
            positions.append(stream.resume_token)
        replica_set.write_noop()
        assert stream.try_next() is None
        positions.append(stream.resume_token)
    tokens = [position["_data"] for position in positions if position is not None]
    assert len(tokens) == 5
    assert tokens == sorted(set(tokens))
    client.shop.customers.insert_one({"_id": 1})
    for position in positions:
        with client.shop.customers.watch(resume_after=position) as stream:
            assert stream.next()["documentKey"] == {"_id": 1}


def test_no_ops_are_written_by_the_primary() -> None:
    needs_own_server()
    with (
        MongoReplicaSet(noop_interval_s=0.001) as replica_set,
        Client(replica_set.connection_string) as client,
        client.watch(max_await_time_ms=1) as stream,
    ):
        first = stream.resume_token
        while stream.resume_token == first:
            assert stream.try_next() is None


def test_event_wakes_waiting_cursors(client: Client) -> None:
    day_ms = 24 * 3600 * 1000
    with client.shop.watch(max_await_time_ms=day_ms) as stream:
        client.shop.customers.insert_one({"_id": 1})
        assert stream.next()["documentKey"] == {"_id": 1}


@pytest.mark.parametrize(
    ("stages", "numbers"),
    [
        ([{"$match": {"operationType": "insert"}}], [0, 1]),
        ([{"$match": {"ns.coll": {"$in": ["orders"]}}}], [1, 3]),
        ([{"$match": {"ns.coll": {"$nin": ["orders"]}}}], [0, 2]),
        ([{"$match": {"ns.coll": {"$regex": "^ord"}}}], [1, 3]),
        ([{"$match": {"$or": [{"ns.coll": "orders"}, {"fullDocument.n": 1}]}}], [0, 1, 3]),
        (
            [{"$match": {"$and": [{"ns.db": "shop"}, {"fullDocument.n": {"$exists": False}}]}}],
            [2, 3],
        ),
        ([{"$match": {"ns.coll": {"$not": {"$eq": "orders"}}}}], [0, 2]),
        ([{"$match": {"ns.coll": {"$ne": "customers"}}}, {"$match": {"ns.db": "shop"}}], [1, 3]),
    ],
)
def test_filters(client: Client, stages: list[Document], numbers: list[int]) -> None:
    with client.watch() as whole, client.watch(stages, max_await_time_ms=1) as filtered:
        client.shop.customers.insert_one({"_id": 1, "n": 1})
        client.shop.orders.insert_one({"_id": 1, "n": 2})
        client.shop.customers.delete_one({})
        client.shop.orders.delete_one({})
        events = [whole.next() for _ in range(4)]
        assert [filtered.next() for _ in numbers] == [events[number] for number in numbers]
        assert filtered.try_next() is None


def test_projections(client: Client) -> None:
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


def code_of(client: Client, stages: list[Document] | None = None, **options: Any) -> int | None:
    """The code with which a stream fails, at its opening or at its first events."""
    with (
        pytest.raises(OperationFailure) as caught,
        client.shop.watch(stages, max_await_time_ms=1, **options) as stream,
    ):
        stream.try_next()
    return caught.value.code


def test_errors_of_resuming(client: Client, replica_set: MongoReplicaSet) -> None:
    with client.shop.watch() as stream:
        client.shop.customers.insert_many([{"_id": 1}, {"_id": 2}])
        token = stream.next()["_id"]
    assert code_of(client, resume_after={"_data": "nothing"}) == 9
    only_deletes: list[Document] = [{"$match": {"operationType": "delete"}}]
    client.shop.customers.delete_one({"_id": 1})
    assert code_of(client, only_deletes, resume_after=token) == 280
    with client.shop.watch(
        only_deletes, start_at_operation_time=replica_set.cluster_time
    ) as stream:
        assert stream.next()["operationType"] == "delete"
    assert code_of(client, [{"$project": {"fullDocument": 1, "_id": 0}}], start_after=token) == 280
    assert code_of(client, [{"$group": {"_id": None}}]) == 20
    assert code_of(client, [{"$unknown": 1}]) == 40324
    assert code_of(client, full_document="never") == 2
    client.shop.customers.insert_one({})
    replica_set.truncate_oplog()
    assert code_of(client, resume_after=token) == 286
    assert code_of(client, start_at_operation_time=Timestamp(1, 1)) == 286


@pytest.mark.parametrize("name", ["admin", "local", "config"])
def test_internal_databases_are_not_watched(client: Client, name: str) -> None:
    with client.watch() as stream:
        # `local` has no retryable writes.
        client[name].command("insert", "things", documents=[{}])
        client.shop.customers.insert_one({})
        assert stream.next()["ns"]["db"] == "shop"
    with pytest.raises(OperationFailure) as caught, client[name].watch():
        pass
    assert caught.value.code == 73


def test_a_cursor_that_the_oplog_overtook_ends(
    client: Client, replica_set: MongoReplicaSet
) -> None:
    with client.shop.watch(max_await_time_ms=1) as stream:
        client.shop.customers.insert_many([{}, {}])
        replica_set.truncate_oplog()
        with pytest.raises(OperationFailure) as caught:
            stream.next()
    assert caught.value.code == 136


@pytest.mark.parametrize("cause", ["drop", "rename", "renamed onto", "dropDatabase"])
def test_a_stream_of_a_collection_is_invalidated(client: Client, cause: str) -> None:
    collection = client.shop.customers
    client.shop.others.insert_one({})
    collection.insert_one({"_id": 1})
    with collection.watch() as stream:
        match cause:
            case "drop":
                collection.drop()
            case "rename":
                collection.rename("elsewhere")
            case "renamed onto":
                client.shop.others.rename("customers", dropTarget=True)
            case "dropDatabase":
                client.drop_database("shop")
        events = list(stream)
    kind = {"dropDatabase": "drop", "renamed onto": "rename"}.get(cause, cause)
    assert [event["operationType"] for event in events] == [kind, "invalidate"]
    assert "ns" not in events[1]
    token = events[1]["_id"]
    with pytest.raises(OperationFailure) as caught, collection.watch(resume_after=token):
        pass
    assert caught.value.code == 260
    collection.insert_one({"_id": 9})
    with collection.watch(start_after=token) as stream:
        assert stream.next()["documentKey"] == {"_id": 9}


def test_only_its_own_end_ends_a_stream_of_a_database(client: Client) -> None:
    client.shop.customers.insert_one({})
    client.shop.orders.insert_one({})
    with client.shop.watch() as of_database, client.watch(max_await_time_ms=1) as of_all:
        client.shop.customers.drop()
        client.drop_database("shop")
        kinds = [event["operationType"] for event in of_database]
        assert kinds == ["drop", "drop", "dropDatabase", "invalidate"]
        events = [of_all.next() for _ in range(3)]
        assert [event["operationType"] for event in events] == kinds[:3]
        assert events[2]["ns"] == {"db": "shop"}
        assert of_all.try_next() is None


def test_full_documents_and_images(client: Client) -> None:
    needs_release(client, 6, 0)
    images = {"enabled": True}
    client.shop.create_collection("kept", changeStreamPreAndPostImages=images)
    with client.shop.watch() as stream:
        for collection in (client.shop.kept, client.shop.plain):
            collection.insert_one({"_id": 1, "n": 1})
            collection.update_one({"_id": 1}, {"$set": {"n": 2}})
            collection.update_one({"_id": 1}, {"$set": {"n": 3}})
            collection.delete_one({"_id": 1})
        events = [stream.next() for _ in range(8)]
    start = events[0]["clusterTime"]

    def shown(**options: Any) -> list[tuple[Any, Any]]:
        with client.shop.watch(start_at_operation_time=start, **options) as stream:
            read = [stream.next() for _ in range(8)]
        absent = "absent"
        return [
            (each.get("fullDocumentBeforeChange", absent), each.get("fullDocument", absent))
            for each in read
        ]

    one, two, three = ({"_id": 1, "n": n} for n in (1, 2, 3))
    no = "absent"
    assert shown() == [(no, one), (no, no), (no, no), (no, no)] * 2
    lookup = [(no, one), (no, None), (no, None), (no, no)]
    assert shown(full_document="updateLookup") == lookup * 2
    available = shown(full_document="whenAvailable", full_document_before_change="whenAvailable")
    assert available[:4] == [(no, one), (one, two), (two, three), (three, no)]
    assert available[4:] == [(no, one), (None, None), (None, None), (None, no)]
    with pytest.raises(OperationFailure) as caught:
        shown(full_document="required")
    assert caught.value.code == 47


def test_expanded_events(client: Client) -> None:
    needs_release(client, 6, 1)
    with client.shop.watch(show_expanded_events=True) as stream:
        client.shop.create_collection("customers")
        client.shop.customers.create_index("n")
        client.shop.customers.drop_index("n_1")
        client.shop.command("collMod", "customers", changeStreamPreAndPostImages={"enabled": True})
        client.shop.customers.insert_one({"_id": 1, "list": [0], "sub": {"0": 0}})
        client.shop.customers.update_one({"_id": 1}, {"$set": {"list.0": 1, "sub.0": 1, "n": 1}})
        events = [stream.next() for _ in range(6)]
    kinds = [event["operationType"] for event in events]
    assert kinds == ["create", "createIndexes", "dropIndexes", "modify", "insert", "update"]
    assert len({event["collectionUUID"] for event in events}) == 1
    assert events[0]["operationDescription"]["idIndex"]["name"] == "_id_"
    assert events[1]["operationDescription"]["indexes"][0]["name"] == "n_1"
    paths = events[5]["updateDescription"]["disambiguatedPaths"]
    assert paths == {"sub.0": ["sub", "0"]}


def test_large_events_are_split() -> None:
    needs_own_server()
    with (
        MongoReplicaSet(max_event_bytes=3000) as replica_set,
        Client(replica_set.connection_string) as client,
    ):
        start = replica_set.write_noop()
        client.shop.customers.insert_one({"_id": 1, "text": "x" * 1200})
        client.shop.customers.replace_one({"_id": 1}, {"text": "y" * 2700})
        client.shop.customers.insert_one({"_id": 2})
        with pytest.raises(PyMongoError) as caught:
            all_events(client, start_at_operation_time=start)
        assert isinstance(caught.value, OperationFailure)
        assert caught.value.code == 10334
        split: list[Document] = [{"$changeStreamSplitLargeEvent": {}}]
        events = all_events(client, pipeline=split, start_at_operation_time=start)
        assert "splitEvent" not in events[0]
        assert "splitEvent" not in events[-1]
        parts = events[1:-1]
        assert len(parts) > 1
        numbers = [part["splitEvent"] for part in parts]
        assert numbers == [{"fragment": n + 1, "of": len(parts)} for n in range(len(parts))]
        whole = {name: value for part in parts for name, value in part.items()}
        assert whole["fullDocument"] == {"_id": 1, "text": "y" * 2700}
        for number, event in enumerate(events):
            token = event["_id"]
            assert all_events(client, pipeline=split, resume_after=token) == events[number + 1 :]


def test_a_batch_is_of_at_most_16_mb(client: Client) -> None:
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
